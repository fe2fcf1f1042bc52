"""The shortest p with K_s.p - K_u.p >= b_k on many pairs k = (s, u), and the proof that it is, or that there is none.

With differences a_k = K_s - K_u as the rows of A, never formed for all pairs at once:

    (primal)  min |p|^2 / 2  subject to  A p >= b        (dual)  max b.lam - |A' lam|^2 / 2  subject to  lam >= 0

Both are optimal exactly if A p >= b, lam >= 0, p = A' lam and lam_k (a_k.p - b_k) = 0; then |p|^2 = b.lam. There is no
p exactly if some lam >= 0 has A' lam = 0 and b.lam = 1 (Farkas): for b = 1, the convex hull of the differences holds 0.
"""

import warnings
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

BATCH = 500  # constraints that enter the working set in one round


class Infeasible(ValueError):
    """No p ranks every pair. The `weights` >= 0 of the pairs in `constraints`, with b.weights = 1, prove it: they make
    sum_k weights_k (K_s - K_u) vanish to `residual`, relative to the longest difference."""

    def __init__(self, constraints: np.ndarray, weights: np.ndarray, residual: float):
        super().__init__(f"no p separates this selection: {len(weights)} of its constraints contradict each other")
        self.constraints, self.weights, self.residual = constraints, weights, residual


class Certificate(NamedTuple):
    """The residuals of the optimality conditions, each 0 for an exact solution; the last three are relative."""

    primal: float  # max_k b_k - a_k.p, or 0
    dual: float  # max_k -lam_k, or 0
    stationarity: float  # |p - A' lam| / |p|
    complementarity: float  # sum_k lam_k |a_k.p - b_k| / |p|^2
    gap: float  # | |p|^2/2 - (b.lam - |A' lam|^2/2) | / |p|^2

    @property
    def worst(self) -> float:
        return max(self)


def rows(keys, pairs) -> np.ndarray:
    """The differences K_s - K_u: (k, d)."""
    return keys[pairs[:, 0]] - keys[pairs[:, 1]]


def combine(keys, pairs, weights) -> np.ndarray:
    """sum_k weights_k (K_s - K_u), without the differences: (d,)."""
    m = len(keys)
    return (np.bincount(pairs[:, 0], weights, m) - np.bincount(pairs[:, 1], weights, m)) @ keys


def slack(keys, pairs, b, p) -> np.ndarray:
    """a_k.p - b_k: (k,)."""
    z = keys @ p
    return z[pairs[:, 0]] - z[pairs[:, 1]] - b


def certify(keys, pairs, b, p, lam) -> Certificate:
    """The optimality conditions over all pairs, from the keys."""
    spare, sums, square = slack(keys, pairs, b, p), combine(keys, pairs, lam), p @ p or 1.0
    residuals = (
        max(0.0, -spare.min(initial=0.0)),
        max(0.0, -lam.min(initial=0.0)),
        np.linalg.norm(p - sums) / np.sqrt(square),
        lam @ np.abs(spare) / square,
        abs(p @ p / 2 - b @ lam + sums @ sums / 2) / square,
    )
    return Certificate(*map(float, residuals))


def shortest(keys, pairs, b, solver: str = "CLARABEL", options=None) -> tuple[np.ndarray, np.ndarray]:
    """p (d,) and the multipliers lam (k,) by cutting planes, or `Infeasible`.

    Solve on a working set, add the pairs its solution violates most, drop those it leaves slack, until none is
    violated. |p| grows from round to round, so no working set comes twice.
    """
    lam = np.zeros(len(pairs))
    if not b.any():  # p = 0 will do
        return np.zeros(keys.shape[1]), lam
    work = _largest(-slack(keys, pairs, b, combine(keys, pairs, b)))
    while True:
        p, multipliers = _at_once(keys, pairs[work], b[work], solver, options or {})
        spare = slack(keys, pairs, b, p)
        violated = np.flatnonzero(spare < -1e-10)
        violated = violated[_largest(-spare[violated])]
        if np.isin(violated, work).all():  # what is left is the solver's own error, which the certificate shows
            lam[work] = multipliers
            return p, lam
        work = np.union1d(work[(spare[work] < 1) | (multipliers > 0)], violated)


def _largest(x):
    return np.argpartition(-x, BATCH)[:BATCH] if len(x) > BATCH else np.arange(len(x))


def _at_once(keys, pairs, b, solver, options):
    """The solver proposes, least distance on the nearly tight rows polishes, and the certificate picks.

    Where none certifies, least distance on all rows decides, also whether there is a p at all.
    """
    A, found = rows(keys, pairs), []

    def residual(solution):
        return certify(keys, pairs, b, *solution).worst

    if solver != "NNLS":
        found += _by_cvxpy(A, b, solver, options)
    for p, lam in found[:]:
        near = np.flatnonzero((A @ p - b <= 1e-3) | (lam > 1e-3 * lam.max()))
        polished = np.zeros(len(b))
        q, polished[near], _ = least_distance(A[near], b[near], np.linalg.norm(p))
        found.append((q, polished))
    if not found or min(map(residual, found)) > 1e-8:
        longest = np.linalg.norm(A, axis=1).max() or 1.0
        p, lam, weights = least_distance(A, b, 1 / longest)
        left = float(np.linalg.norm(weights @ A) / longest)
        if left <= 1e-9 and (weights >= 0).all() and abs(weights @ b - 1) <= 1e-9:
            raise Infeasible(pairs[weights > 0], weights[weights > 0], left)
        found.append((p, lam))
    return min(found, key=residual)


def _by_cvxpy(A, b, solver, options):
    """[(p, multipliers)], or [] if the solver found no solution."""
    import cvxpy as cp  # here, because importing it takes longer than everything else in this library

    if solver not in cp.installed_solvers():
        raise ValueError(f"solver is {solver!r}, but 'NNLS' or one of {cp.installed_solvers()} is needed")
    x = cp.Variable(A.shape[1])
    ranked = A @ x >= b
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Solution may be inaccurate")  # the certificate says how inaccurate
        try:
            cp.Problem(cp.Minimize(cp.sum_squares(x) / 2), [ranked]).solve(solver=solver, **options)
        except cp.error.SolverError:
            return []
    return [] if x.value is None else [(x.value, np.maximum(ranked.dual_value, 0))]


def least_distance(A, b, size=1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The shortest x with A x >= b, |x| being about `size`, by non-negative least squares (Lawson and Hanson).

    Let r = (size A' lam, b.lam - 1) be the residual of min |r| over lam >= 0. If r = 0, lam proves that there is no x.
    Otherwise x = -size r_head / r_last; the support of lam is independent and tight, so x is the shortest solution of
    A x = b there, and is solved for once more to gain the last digits. Returns x, its multipliers, and lam.
    """
    lam, _ = nnls(np.vstack([size * A.T, b]), np.r_[np.zeros(A.shape[1]), 1.0], maxiter=30 * max(A.shape))
    on = lam > 0
    x = np.linalg.lstsq(A[on], b[on])[0]
    multipliers = np.zeros(len(b))
    multipliers[on] = np.linalg.lstsq(A[on].T, x)[0]
    return x, multipliers, lam
