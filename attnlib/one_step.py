"""One gradient step on the embeddings, and what it makes of a corpus.

Theorems: chapter "One gradient step" of the book.
"""

import numpy as np

from .attention import Attention
from .corpus import Corpus


def frequency(corpus: Corpus) -> np.ndarray:
    """q_s = (1/n) sum_i C_is / T_i, a document's share of token s on average: (|S|,)."""
    return corpus.counts.T @ (1 / corpus.lengths) / len(corpus)


def signed_frequency(corpus: Corpus) -> np.ndarray:
    """alpha_s = (1/n) sum_i y_i C_is / T_i, the average signed frequency: (|S|,).

    >>> corpus = Corpus.from_tokens([["good", "film"], ["bad", "film"], ["good"]], [1, -1, 1])
    >>> dict(zip(corpus.vocabulary, signed_frequency(corpus).round(3).tolist()))
    {'bad': -0.167, 'film': 0.0, 'good': 0.5}
    """
    return corpus.counts.T @ (corpus.labels / corpus.lengths) / len(corpus)


def posterior_difference(corpus: Corpus, by: str = "frequency") -> np.ndarray:
    """Delta_s, the weight of token s in positive documents minus that in negative ones over their sum: (|S|,).

    The weight of s in document i is C_is / T_i (by="frequency", where Delta = alpha / q), C_is (by="count"), or 1 if
    s stands in it (by="document"). Delta_s lies in [-1, 1]; it is NaN for a token that no document holds.
    """
    C, y = corpus.counts, corpus.labels
    if by == "frequency":
        weight = C.multiply(1 / corpus.lengths[:, None]).tocsr()
    elif by == "count":
        weight = C
    elif by == "document":
        weight = C.sign()
    else:
        raise ValueError(f"by is {by!r}, but 'frequency', 'count' or 'document' is needed")
    total = weight.sum(axis=0)
    return np.divide(weight.T @ y, total, out=np.full_like(total, np.nan), where=total > 0)


def one_step(model: Attention, corpus: Corpus, eta: float) -> Attention:
    """E - eta grad_E L, with p and v kept."""
    if not np.isfinite(eta):
        raise ValueError(f"eta is {eta}, but a finite step size is needed")
    return Attention(model.E - model.E.dtype.type(eta) * model.gradients(corpus).E, model.p, model.v)


def remainder_bound(model: Attention, corpus: Corpus) -> np.ndarray:
    """The bound on |R_s| in E1_s = E0_s + (eta/2) alpha_s v + eta R_s, for any start: (|S|,).

    With eps_z = max |z| and eps_g = max |gamma| at the start,

        |R_s| <= q_s [ |v| ((e^{2 eps_z} - 1)/2 + e^{2 eps_z} eps_g/4) + |p| e^{2 eps_z} 2 eps_g (1/2 + eps_g/4) ].
    """
    eps_z, eps_g = (np.abs(x).max().astype(np.float64) for x in (model.z, model.gamma))
    along_v = np.linalg.norm(model.v) * (-np.expm1(-2 * eps_z) / 2 + eps_g / 4)
    along_p = np.linalg.norm(model.p) * 2 * eps_g * (1 / 2 + eps_g / 4)
    rest = frequency(corpus) * (along_v + along_p)
    with np.errstate(over="ignore"):  # an infinite bound is a true one, and times 0 it is 0
        return np.multiply(rest, np.exp(2 * eps_z), out=np.zeros_like(rest), where=rest > 0)
