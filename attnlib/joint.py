"""Training v and p together: f_i = v.x_i^p with the attention feature x_i^p = sum_u A_iu x_iu, on sequences X.

Normalised descent on both, and the joint path: the least loss over |v| <= r, |p| <= R. Both gradients are kept as
logarithms. For v, with margins m_i = y_i v.x_i^p, -grad_v L = (1/n) sum_i sigmoid(-m_i) y_i x_i^p, and only ratios of
the weights matter; for p at fixed v it is a `SelectionProblem` with values X v. Theorems: chapter "Training v and p
together".
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import minimize, root
from scipy.special import logsumexp, softmax

from . import checks
from .descent import minimise_in_ball
from .margin import constraints, label_margin, max_margin
from .problem import SelectionProblem
from .shortest import rows


@dataclass(frozen=True, eq=False)
class Joint:
    """Sequences X (n, T, d), labels (n,), key map W (k, d) or None for the identity.

    >>> joint = Joint([[[0.0, 0.0], [1.0, 1.0]], [[0.0, 0.0], [1.0, -1.0]]], labels=[1, -1])
    >>> V, P = joint.descend([-1.0, 0.0], [0.0, -1.0], steps=500, rate=0.1)
    >>> bool(V[-1, 1] > 0.99 * np.linalg.norm(V[-1])), bool(P[-1, 0] > 0.99 * np.linalg.norm(P[-1]))
    (True, True)
    """

    X: np.ndarray
    labels: np.ndarray
    W: np.ndarray | None = None

    def __post_init__(self):
        X = checks.floats("X", self.X, (None, None, None)).astype(np.float64, copy=False)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "labels", checks.labels(self.labels, len(X)))

    @cached_property
    def base(self) -> SelectionProblem:
        """The keys and counts, with values 0."""
        return SelectionProblem.from_sequences(self.X, self.labels, np.zeros(self.X.shape[2]), self.W)

    def at(self, v) -> SelectionProblem:
        """Training p with v fixed."""
        return replace(self.base, values=(self.X @ checks.floats("v", v, self.X.shape[2:])).ravel())

    def attention(self, p) -> np.ndarray:
        """A_iu, rows summing to 1: (n, T)."""
        return softmax((self.base.keys @ self.base.check_point(p)).reshape(self.X.shape[:2]), axis=1)

    def features(self, p) -> np.ndarray:
        """x_i^p: (n, d)."""
        return np.einsum("iu,iud->id", self.attention(p), self.X)

    def directions(self, v, p) -> tuple[np.ndarray, np.ndarray]:
        """The unit vectors -grad_v L / |grad_v L| and -grad_p L / |grad_p L|."""
        h = self.at(v).direction(p)  # which refuses a v or p that is none
        G = self._pull(v, self.labels[:, None] * self.features(p))
        return G / np.linalg.norm(G), h

    def descend(self, v, p, steps: int, rate) -> tuple[np.ndarray, np.ndarray]:
        """The iterates (steps + 1, d) of normalised descent on v and on p, with one rate or a pair of rates."""
        rate_v, rate_p = np.broadcast_to(rate, 2)
        if not (rate_v > 0 and rate_p > 0):
            raise ValueError(f"rate is {rate}, but positive numbers are needed")
        V, P = np.empty((steps + 1, len(v))), np.empty((steps + 1, len(p)))
        V[0], P[0] = v, p
        for k in range(steps):
            g, h = self.directions(V[k], P[k])
            V[k + 1], P[k + 1] = V[k] + rate_v * g, P[k] + rate_p * h
        return V, P

    def path(self, r: float, R: float, v, p, rounds: int = 20) -> tuple[np.ndarray, np.ndarray]:
        """Least loss over |v| <= r and |p| <= R, from (v, p): by turns, each given the other, until neither moves.

        For v the loss is convex and its minimum is global; for p it is a local one, and so is what they agree on.
        """
        for _ in range(rounds):
            old = v, p
            v = self.best_head(p, r, v)
            p = np.asarray(p, dtype=float)
            p = minimise_in_ball(self.at(v), p * (R / np.linalg.norm(p)), R)
            if np.linalg.norm(v - old[0]) <= 1e-9 * r and np.linalg.norm(p - old[1]) <= 1e-9 * R:
                break
        return v, p

    def best_head(self, p, r: float, start=None) -> np.ndarray:
        """The v of least loss over |v| <= r for attention features x_i^p, which is unique: (d,).

        Minimised as log L / r, and then solved for as v = r G/|G| with G = -grad_v L, to the last digits.
        """
        A = self.labels[:, None] * self.features(p)
        d = A.shape[1]
        start = A.mean(axis=0) if start is None else start
        found = minimize(
            lambda w: logsumexp(log_softplus(-r * (A @ w))) / r,
            start / np.linalg.norm(start),
            jac=lambda w: -self._pull(r * w, A, scaled=True),
            constraints={"type": "ineq", "fun": lambda w: 1 - w @ w, "jac": lambda w: -2 * w},
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 1000},
        ).x
        if found @ found < 1 - 1e-6:
            return r * found  # inside the ball

        def residual(w):
            G = self._pull(r * w, A)
            return w - G / np.linalg.norm(G)

        polished = root(residual, found, tol=1e-14).x
        better = np.linalg.norm(residual(polished)) < np.linalg.norm(residual(found))
        return r * (polished if better else found).reshape(d)

    def _pull(self, v, A, scaled=False) -> np.ndarray:
        """-grad_v L up to a positive factor, for A with rows y_i x_i; `scaled`: divided by n L, so -grad_v log L."""
        log_g = -np.logaddexp(0, A @ v)
        return np.exp(log_g - (logsumexp(log_softplus(-(A @ v))) if scaled else log_g.max())) @ A


def log_softplus(x) -> np.ndarray:
    """log log(1 + e^x), which is x where e^x underflows."""
    x = np.asarray(x, dtype=float)
    return np.where(x < -30, x, np.log(np.logaddexp(0, np.maximum(x, -30))))


def selected_attention(joint: Joint, selection) -> np.ndarray:
    """All attention of each document on its selected token: (n, T), with one 1 in a row."""
    n, T = joint.X.shape[:2]
    return np.eye(T)[np.asarray(selection) - T * np.arange(n)]


def label_margin_of(joint: Joint, A) -> float:
    """The margin of the label SVM on the features sum_u A_iu x_iu of an attention pattern A (n, T), 0 if none."""
    features = np.einsum("iu,iud->id", A, joint.X)
    try:
        return label_margin(features, joint.labels, solver="NNLS").margin
    except ValueError:
        return 0.0


def dominance(joint: Joint, selection, patterns) -> np.ndarray:
    """(Gamma - margin of A) / max_i (1 - A_i alpha_i) for attention patterns A (k, n, T), Gamma the margin with all
    attention on the selected tokens: (k,). Assumption C says that it stays above some nu > 0."""
    full = selected_attention(joint, selection)
    Gamma = label_margin_of(joint, full)
    return np.array([(Gamma - label_margin_of(joint, A)) / (1 - A[full > 0].min()) for A in patterns])


def label_margin_dominates(joint: Joint, selection, samples: int = 200, seed: int = 0) -> float:
    """The least `dominance` seen over patterns that move one document's attention to another token, by little or by
    all, and over random ones. If it is 0 or less, Assumption C fails, provided that some p attends like that pattern or
    comes close; if it is positive, C holds as far as was looked."""
    (n, T), patterns = joint.X.shape[:2], []
    full = selected_attention(joint, selection)
    token = full.argmax(axis=1)
    for i in range(n):
        for u in set(range(T)) - {token[i]}:
            for share in (1e-3, 0.1, 0.5, 1.0):
                A = full.copy()
                A[i, token[i]], A[i, u] = 1 - share, share
                patterns.append(A)
    rng = np.random.default_rng(seed)
    mix = rng.random((samples, 1, 1))
    patterns += list((1 - mix) * full + mix * rng.dirichlet(np.full(T, 0.5), (samples, n)))
    return float(dominance(joint, selection, patterns).min())


def slack_margins(joint: Joint, selection) -> tuple[np.ndarray, np.ndarray]:
    """The max-margin v of the selected tokens, and delta_i = y_i v.x_i/|v| - Gamma >= 0, which is 0 for the support
    inputs: (d,), (n,)."""
    x = joint.X.reshape(-1, joint.X.shape[2])[np.asarray(selection)]
    solution = label_margin(x, joint.labels)
    return solution.p, np.maximum(joint.labels * (x @ solution.p) - 1, 0) * solution.margin


def ratio_direction(joint: Joint, selection, ratio: float) -> np.ndarray:
    """The unit u that maximises min_k (a_k.u + ratio delta_i) subject to a_k.u >= 0, over the pairs k of documents i:
    where the p of the joint path goes when r/R tends to `ratio`. 0 gives the max-margin direction, np.inf the one of
    the relaxed problem: (d,)."""
    _, delta = slack_margins(joint, selection)
    outside = np.flatnonzero(delta > 1e-9)
    if np.isinf(ratio):
        p = max_margin(joint.base, selection, relaxed=outside).p
        return p / np.linalg.norm(p)
    pairs, _ = constraints(joint.base, selection)
    a, shift = rows(joint.base.keys, pairs), ratio * delta[pairs[:, 0] // joint.X.shape[1]]
    import cvxpy as cp  # here, because importing it takes long

    u, m = cp.Variable(a.shape[1]), cp.Variable()
    cp.Problem(cp.Maximize(m), [a @ u + shift >= m, a @ u >= 0, cp.norm(u) <= 1]).solve(solver="CLARABEL")
    return u.value / np.linalg.norm(u.value)
