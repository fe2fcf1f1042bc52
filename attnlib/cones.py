"""The cone around a locally optimal max-margin direction in which descent is known to point the right way.

For a locally optimal selection with solution p^ and margin Theta = 1/|p^| it is {cos(p, p^) >= 1 - mu, |p| >= R}.
In it, for every q of length |p^| in the same cone without its tip,

    C m(p) >= -grad L(p).q >= c m(p) > 0,       m(p) = (1/n) sum_i (1 - attention on the selected token of i).

`cone_constants` are those proved in chapter "Global and local convergence"; `published_constants` the paper's.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit

from .margin import MaxMargin, max_margin
from .optimality import neighbours
from .problem import SelectionProblem


@dataclass(frozen=True, eq=False)
class Cone:
    """The cone of a selection, and the numbers it is made of."""

    p: np.ndarray = field(repr=False)  # (d,) the axis p^
    Theta: float  # 1 / |p^|
    delta: float  # half the least slack a.p^ - 1 of a pair that is not tight; infinite if there is none
    size: float  # the paper: A = max |K_u| |p^|;   here: D = max |a_k| |p^|
    gap: float  # the least label-score by which a selected token leads a neighbour
    mu: float
    R: float
    c: float
    C: float

    @property
    def half_angle(self) -> float:
        """The angle between the axis and the edge, in radians."""
        return float(np.arccos(1 - self.mu))

    def contains(self, p) -> np.ndarray:
        """Whether points (..., d) lie in the cone, tip cut off."""
        p = np.asarray(p, dtype=float)
        norm = np.linalg.norm(p, axis=-1)
        return (norm >= self.R) & (p @ self.p * self.Theta >= (1 - self.mu) * norm)


@dataclass(frozen=True)
class _Pairs:
    """One entry for each pair (i, u), u not the selected token s of document i."""

    document: np.ndarray
    margin: np.ndarray  # (K_s - K_u).p^
    length: np.ndarray  # |K_s - K_u|
    gap: np.ndarray  # y_i (gamma_s - gamma_u)
    times: np.ndarray  # C_iu / C_is
    tight: np.ndarray


def _pairs(problem, selection, solution) -> _Pairs:
    C, K, gamma = problem.counts, problem.keys, problem.values
    selection = np.asarray(selection)
    if selection.shape != (C.shape[0],):
        raise ValueError(f"selection has shape {selection.shape}, but one row a document is needed: ({C.shape[0]},)")
    touching = neighbours(problem, selection, solution)
    i, u = np.repeat(np.arange(C.shape[0]), problem.widths), C.indices
    s = selection[i]
    tight = np.concatenate([np.isin(C.indices[a:b], t) for a, b, t in zip(C.indptr[:-1], C.indptr[1:], touching)])
    a = K[s] - K[u]
    pairs = i, a @ solution.p, np.linalg.norm(a, axis=1), problem.labels[i] * (gamma[s] - gamma[u]), C.data, tight
    document, margin, length, gap, counts, tight = (x[u != s] for x in pairs)
    chosen = np.asarray(C[np.arange(C.shape[0]), selection]).ravel()
    if not tight.any():
        raise ValueError("every document has a single token: there is nothing to select")
    if (gap[tight] <= 0).any():
        k = np.flatnonzero(tight & (gap <= 0))[0]
        raise ValueError(
            f"the selection is not locally optimal: in document {document[k]} a neighbour scores {-gap[k]:.3g} above "
            "the selected token; only locally optimal selections have a cone"
        )
    return _Pairs(document, margin, length, gap, counts / chosen[document], tight)


def _ranges(problem):
    """The range of the values in each document, and the extreme |l'| of the logistic loss over all label-scores."""
    C = problem.counts
    score = np.repeat(problem.labels, problem.widths) * problem.values[C.indices]
    spread = problem.maxima(score) + problem.maxima(-score)
    return spread, (float(expit(-score.max())), float(expit(-score.min())))


def cone_constants(problem: SelectionProblem, selection, solution: MaxMargin | None = None, slopes=None) -> Cone:
    """The constants proved here. `slopes` are the least and the largest |l'| over the label-scores; None: logistic.

    delta counts the slack pairs of every document, also of those that have no neighbour.
    """
    solution = max_margin(problem, selection) if solution is None else solution
    pairs = _pairs(problem, selection, solution)
    spread, logistic = _ranges(problem)
    least, most = logistic if slopes is None else slopes
    Theta, Gamma = solution.margin, float(spread.max())
    delta = float((pairs.margin[~pairs.tight].min(initial=np.inf) - 1) / 2)
    D = float(pairs.length.max()) / Theta
    gap, M = float(pairs.gap[pairs.tight].min()), float(pairs.times.sum())
    thin = float(pairs.times[pairs.tight].min())
    mu = (min(0.5, delta) / D) ** 2 / 8
    R = max(4 / 3 * np.log(2 * M * Gamma / gap), np.log(16 * M * most * Gamma * D / (thin * least * gap)) / delta)
    return Cone(solution.p, Theta, delta, D, gap, mu, float(R) / Theta, least * gap / 8, 2 * most * Gamma)


def published_constants(problem: SelectionProblem, selection, solution: MaxMargin | None = None, slopes=None) -> Cone:
    """Those of the paper's Lemma 7: delta compares neighbours with the other tokens of the same document, so that a
    document without a neighbour does not count; T is the length of the longest document."""
    solution = max_margin(problem, selection) if solution is None else solution
    pairs = _pairs(problem, selection, solution)
    spread, logistic = _ranges(problem)
    least, most = logistic if slopes is None else slopes
    Theta, Gamma = solution.margin, float(spread.max())
    has_neighbour = np.isin(pairs.document, pairs.document[pairs.tight])
    delta = float((pairs.margin[~pairs.tight & has_neighbour].min(initial=np.inf) - 1) / 2)
    A = float(np.linalg.norm(problem.keys, axis=1).max()) / Theta
    gap, widest = float(pairs.gap[pairs.tight].min()), float(pairs.gap[pairs.tight].max())
    T = float(problem.counts.sum(axis=1).max())
    mu = (min(0.5, delta) / A) ** 2 / 8
    R = max(2, 1 / delta) / Theta * np.log(64 * T * Gamma * A / gap)
    return Cone(solution.p, Theta, delta, A, gap, mu, float(R), least * gap / 8, 2 * most * widest)


def cone_ratio(problem: SelectionProblem, selection, p, q) -> np.ndarray:
    """-grad L(p).q / m(p) at points p (..., d) where the selected tokens score best, in the log domain: (...)."""
    weights = problem.tail(p)
    s = np.asarray(selection)
    if (weights.best != s).any():
        raise ValueError("the selection does not score best at every p")
    other = problem.counts.indices != np.repeat(s, problem.widths)
    log_A = weights.log_A[..., other]
    top = log_A.max(axis=-1)
    mass = np.exp(log_A - top[..., None]).sum(axis=-1) / len(s)
    return weights.gradient() @ np.asarray(q, dtype=float) * np.exp(weights.top - top) / mass
