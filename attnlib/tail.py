"""The loss far from the origin, where attention sits on one token and everything else is below the smallest float.

All of it is read off the reference-token form. With r the best-scoring token of document i, a_iu = K_r - K_u,

    -grad L = sum_{i, u != r} W_iu a_iu,    W_iu = (1/n) y_i g_i A_iu (f_i - gamma_u),    g_i = -ell'(y_i f_i),

where f_i - gamma_u = (gamma_r - gamma_u) - delta_i and delta_i = gamma_r - f_i = sum_u A_iu (gamma_r - gamma_u) is kept
as e^{m_i} D_i: where gamma_u = gamma_r it is all there is. Every weight is a number of ordinary size times e^{top}.
`p` is one point (d,) or several (k, d) throughout; derivations: chapter "The model" of the book.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import logsumexp


@dataclass(frozen=True, eq=False)
class Tail:
    """The weights W e^{-top}, one for each stored count, and what they are made of."""

    problem: object
    best: np.ndarray  # (..., n) the reference token of each document
    log_A: np.ndarray  # (..., nnz) log attention
    log_scale: np.ndarray  # (..., n) m_i
    D: np.ndarray  # (..., n) delta_i = e^{m_i} D_i
    W: np.ndarray  # (..., nnz) W_iu e^{-top}, 0 for the reference token
    top: np.ndarray  # (...)

    @property
    def delta(self) -> np.ndarray:
        """gamma_r - f_i, which may underflow: (..., n)."""
        return np.exp(self.log_scale) * self.D

    @property
    def margins(self) -> np.ndarray:
        """y_i f_i: (..., n)."""
        return self.problem.labels * (self.problem.values[self.best] - self.delta)

    def loss(self) -> np.ndarray:
        """L: (...)."""
        return self.problem.ell.value(self.margins).mean(axis=-1)

    def gradient(self) -> np.ndarray:
        """-grad L e^{-top}: (..., d)."""
        problem = self.problem
        m, u = len(problem.values), problem.counts.indices
        W = self.W.reshape(-1, u.size)
        at = m * np.arange(len(W))[:, None]  # one stretch of m bins for each point
        reference = np.repeat(self.best.reshape(len(W), -1), problem.widths, axis=1)
        omega = np.bincount((reference + at).ravel(), W.ravel(), m * len(W))
        omega -= np.bincount((u + at).ravel(), W.ravel(), m * len(W))
        return (omega.reshape(-1, m) @ problem.keys).reshape(*self.top.shape, -1)

    def rounding(self, G: np.ndarray) -> np.ndarray:
        """What rounding may change the direction of the gradient G by; at 1 all of G is cancellation: (...)."""
        terms = np.abs(self.W).sum(axis=-1) * np.abs(self.problem.keys).max()
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num(np.finfo(float).eps * terms / np.linalg.norm(G, axis=-1), nan=np.inf)

    def hessian(self) -> np.ndarray:
        """-hess L e^{-top} at a single p: (d, d). With G_i = sum_u W_iu a_iu and abar_i = sum_u A_iu a_iu,

        -hess L = sum_i [ -sum_u W_iu a_iu a_iu' + G_i abar_i' + abar_i G_i' - n (ell''/ell'^2)(y_i f_i) G_i G_i' ].
        """
        problem, C = self.problem, self.problem.counts
        K = problem.keys
        W, A = (sparse.csr_array((x, C.indices, C.indptr), shape=C.shape) for x in (self.W, np.exp(self.log_A)))
        R, WK, total = K[self.best], W @ K, W.sum(axis=1)
        G, abar = total[:, None] * R - WK, R - A @ K
        # sum W a a', multiplied out so that no array of all differences is built
        mass = W.sum(axis=0) + np.bincount(self.best, total, len(K))
        cross = R.T @ WK + G.T @ abar
        curvature = C.shape[0] * np.exp(problem.ell.log_curvature(self.margins) + self.top)
        return cross + cross.T - (K.T * mass) @ K - (G.T * curvature) @ G

    def log_excess(self) -> tuple[np.ndarray, np.ndarray]:
        """log |L - L_r| and the sign of L - L_r, where L_r = (1/n) sum_i ell(y_i gamma_r) is the loss of all attention
        on the best tokens: (...), (...).

        Document by document the margin has fallen from y gamma_r by y delta, of which only the logarithm is needed.
        """
        y = self.problem.labels
        with np.errstate(divide="ignore"):
            log_size = self.log_scale + np.log(np.abs(self.D))
        lower = np.minimum(y * self.problem.values[self.best], self.margins)
        logs = self.problem.ell.log_drop(lower, log_size)
        return logsumexp(logs, axis=-1, b=np.sign(y * self.D) / len(y), return_sign=True)


def tail(problem, p) -> Tail:
    """The weights of a selection problem at p (d,) or (k, d)."""
    gamma, y, C, wide = problem.values, problem.labels, problem.counts, problem.widths
    u = C.indices

    def spread(x):
        return np.repeat(x, wide, axis=-1)

    z = p @ problem.keys.T
    best = problem.best_token(z)
    log_A = np.log(C.data) + z[..., u] - spread(np.take_along_axis(z, best, axis=-1))
    log_A -= spread(np.log(problem.sums(np.exp(log_A))))
    gap = spread(gamma[best]) - gamma[u]
    differs = gap != 0
    m = problem.maxima(np.where(differs, log_A, -np.inf))
    m[np.isneginf(m)] = 0.0  # a document whose tokens all have one value: every gap is 0, and so is D
    D = problem.sums(np.exp(np.where(differs, log_A - spread(m), -np.inf)) * gap)
    delta = np.exp(m) * D
    log_g = problem.ell.log_slope(y * (gamma[best] - delta))
    log_w = log_A + spread(log_g) + np.where(differs, 0.0, spread(m))
    w = spread(y) * np.where(differs, gap - spread(delta), -spread(D)) / len(y)
    # A token whose key is K_r itself adds exactly 0, and is left out lest its weight drown the others.
    live = (w != 0) & (problem.distinct_key[u] != spread(problem.distinct_key[best]))
    if not live.any(axis=-1).all():
        raise ValueError("grad L is 0: in every document all tokens have one value, or all have one key")
    top = np.where(live, log_w, -np.inf).max(axis=-1)
    W = np.where(live, w * np.exp(np.minimum(log_w - top[..., None], 0.0)), 0.0)
    return Tail(problem, best, log_A, m, D, W, top)
