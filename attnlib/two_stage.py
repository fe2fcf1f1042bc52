"""The theory's two stages on a real corpus: E frozen after one step, then flow on p alone."""

import time

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import expit
from scipy.stats import spearmanr

from .attention import Attention
from .corpus import Corpus
from .margin import angle, max_margin
from .one_step import one_step
from .pooling import pool
from .training import accuracy

D, OFTEN = 128, 100  # OFTEN: counts from which a token takes part in rank correlations


def two_stage_study(corpus: Corpus, test: Corpus, tokens: dict, eta: float = 1e3, length: float = 12.0) -> dict:
    """E frozen after the exact step, flow on p in function space: z' = K omega, K = I + (eta/2)^2 alpha alpha'.

    In arc length of p: dz/dtau = K omega / sqrt(omega.K omega). It needs no d, and costs O(nnz + |S|) a step.
    """
    C, y, alpha = corpus.counts, corpus.labels, tokens["alpha"]
    gamma = eta / 2 * alpha

    def field(tau, z):
        pooled = pool(corpus.bags, z, gamma)
        _, omega = pooled.adjoint(y * expit(-y * pooled.f) / len(y))
        K_omega = omega + gamma * (gamma @ omega)
        return K_omega / np.sqrt(omega @ K_omega)

    taus = np.linspace(0, length, 13)[1:]
    path = solve_ivp(field, (0, length), np.zeros(len(alpha)), t_eval=taus, rtol=1e-3, atol=1e-4).y.T
    often = tokens["count"] >= OFTEN
    curve = []
    for tau, z in zip(taus, path):
        pooled = pool(corpus.bags, z, gamma)
        curve.append(
            (
                tau,
                np.logaddexp(0, -y * pooled.f).mean(),
                np.median(1 / pooled.attention().power(2).sum(axis=1)),
                accuracy(pool(test.bags, z, gamma).f, test.labels),
                spearmanr(z[often], np.abs(tokens["delta"][often]))[0],
            )
        )
    order = np.argsort(path[-1])
    scores = np.repeat(y, np.diff(C.indptr)) * alpha[C.indices] > 0  # on the side of the document's label
    attended = pooled.attention()
    attended.data *= scores
    on_side = attended.sum(axis=1)
    return {
        "eta": eta,
        "right_side": [float(on_side[y == label].mean()) for label in (1, -1)],
        "curve": np.array(curve).tolist(),  # tau, loss, effective tokens a document, test accuracy, rank correlation
        "risen": tokens["token"][order[:-16:-1]].tolist(),
        "fallen": tokens["token"][order[:15]].tolist(),
    }


def finite_study(corpus: Corpus, test: Corpus, eta: float = 1e3, length: float = 30.0, seed: int = 0) -> dict:
    """The same with d = D, on 20,000 documents: one step from silent Gaussian rows of length near 1, then flow on p."""
    corpus = Corpus(corpus.counts[:20_000], corpus.labels[:20_000], corpus.vocabulary)
    rng = np.random.default_rng(seed)
    E = rng.standard_normal((len(corpus.vocabulary), D)) / D**0.5
    E[:, 0] = 0.0
    model = one_step(Attention(E, np.zeros(D), np.eye(D)[0]), corpus, eta)
    problem = model.problem(corpus)

    def field(tau, p):
        G = -problem.gradient(p)
        return G / np.linalg.norm(G)

    p = solve_ivp(field, (0, length), np.zeros(D), rtol=1e-3, atol=1e-3).y[:, -1]
    after = Attention(model.E, p, model.v)
    return margin_study(corpus, after) | {
        "effective": float(np.median(1 / after.attention(corpus).power(2).sum(axis=1))),
        "test_accuracy": accuracy(after.logits(test), test.labels),
    }


def margin_study(corpus: Corpus, model: Attention) -> dict:
    """The max-margin direction of what the trained p selects, certified over all pairs, and the angle to it."""
    problem = Attention(*(x.astype(np.float64) for x in (model.E, model.p, model.v))).problem(corpus)
    chosen = problem.best_token(problem.keys @ model.p.astype(np.float64))
    begun = time.perf_counter()
    solution = max_margin(problem, chosen, solver="NNLS")
    return {
        "constraints": len(solution.constraints),
        "support": len(solution.support),
        "certificate": solution.certificate().worst,
        "angle": angle(model.p, solution.p),
        "seconds": time.perf_counter() - begun,
    }
