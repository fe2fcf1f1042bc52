"""The hard-margin reference: the shortest p that ranks the selected tokens of every document first by 1.

For selected tokens S_i of each document:

    min |p|^2 / 2   subject to   p.(K_s - K_u) >= 1   for all i, s in S_i, u in X_i but not in S_i.

Its length is the inverse of the margin, its multipliers name the support tokens, and its optimality is certified.
Derivations: chapter "The hard-margin reference" of the book.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import null_space
from scipy.optimize import linprog

from . import checks
from .problem import SelectionProblem
from .shortest import Certificate, certify, rows, shortest, slack

TIGHT = 1e-7  # a constraint counts as tight when its slack, in units of the required 1, is below this


class Rates(NamedTuple):
    """rho, the restoring force of the tight constraints; gap, the distance to the first slack one; mu, the margin."""

    rho: float
    gap: float
    mu: float


@dataclass(frozen=True, eq=False)
class MaxMargin:
    """The solution p (d,), and for each pair (s, u) of `constraints` (k, 2) a multiplier in `duals` (k,):
    p = sum_k duals_k (K_s - K_u), and p.(K_s - K_u) >= `bounds`, which is 1, or 0 for a relaxed pair."""

    p: np.ndarray
    duals: np.ndarray = field(repr=False)
    constraints: np.ndarray = field(repr=False)
    bounds: np.ndarray = field(repr=False)
    keys: np.ndarray = field(repr=False)

    @property
    def margin(self) -> float:
        """1 / |p|; infinite where there is nothing to separate and p is 0."""
        norm = np.linalg.norm(self.p)
        return float(1 / norm) if norm else np.inf

    @property
    def support(self) -> np.ndarray:
        """The rows of `constraints` with a positive multiplier."""
        return np.flatnonzero(self.duals > 0)

    @property
    def tight(self) -> np.ndarray:
        """The rows of `constraints` that hold with equality."""
        return np.flatnonzero(slack(self.keys, self.constraints, self.bounds, self.p) <= TIGHT)

    def certificate(self) -> Certificate:
        """The optimality conditions over all constraints, from the keys and not from a solver's word."""
        return certify(self.keys, self.constraints, self.bounds, self.p, self.duals)

    @cached_property
    def strictly_complementary(self) -> bool:
        """Whether some optimal multipliers are positive on every tight constraint.

        The optimal multipliers are lam + N c, with N the null space of A' on the tight rows: a linear program in (c, t)
        maximises t subject to lam + N c >= t. Where this holds the tangent of gradient flow converges exponentially.
        """
        tight = self.tight
        if tight.size == 0:
            return True
        lam = self.duals[tight] / (self.duals.max() or 1.0)
        N = null_space(rows(self.keys, self.constraints[tight]).T, rcond=1e-9)
        objective = np.r_[np.zeros(N.shape[1]), -1.0]
        free = [(None, None)] * N.shape[1]
        best = linprog(objective, np.c_[-N, np.ones(len(lam))], lam, bounds=[*free, (None, 1.0)])
        return bool(-best.fun > 1e-6)

    def rates(self) -> Rates:
        """The three rates whose smallest is that of the tangent of gradient flow, for a strictly complementary solution
        with affinely independent tight differences: only then are the limiting weights pi the multipliers."""
        tight, mu = self.tight, self.margin
        A, pi = rows(self.keys, self.constraints[tight]), self.duals[tight] / self.duals[tight].sum()
        around = A - pi @ A
        if np.linalg.matrix_rank(around) < len(A) - 1:
            raise ValueError("the tight differences are affinely dependent: the multipliers do not fix the rates")
        spread = np.linalg.svd(np.sqrt(pi)[:, None] * around, compute_uv=False)[: len(A) - 1]
        rest = np.delete(slack(self.keys, self.constraints, 0.0, self.p * mu), tight)
        return Rates(float(spread.min(initial=np.inf) ** 2 / mu), float(rest.min(initial=np.inf) - mu), mu)


def max_margin(problem: SelectionProblem, selection, solver: str = "CLARABEL", relaxed=(), **options) -> MaxMargin:
    """The max-margin p of a selection: one row a document, (n,), or a collection of rows for each document.

    `solver` names any quadratic-program solver of cvxpy, and `options` go to it; "NNLS" needs none and is the fastest.
    Documents in `relaxed` only ask for p.(K_s - K_u) >= 0. Raises `Infeasible` with a verified certificate; a margin
    below 1e-9 of the longest difference counts as none. With nothing to separate, p is 0 and the margin infinite.

    >>> problem = SelectionProblem.from_sequences([[[2.0, 0.0], [0.0, 0.0]]], labels=[1], v=[1.0, 0.0])
    >>> solution = max_margin(problem, [0])
    >>> solution.p.round(9).tolist(), round(solution.margin, 9)
    ([0.5, 0.0], 2.0)
    """
    pairs, b = constraints(problem, selection, relaxed)
    p, duals = shortest(problem.keys, pairs, b, solver, options)
    return MaxMargin(p, duals, pairs, b, problem.keys)


def label_margin(X, labels, solver: str = "CLARABEL", **options) -> MaxMargin:
    """The max-margin v of features X (n, d): min |v|^2 / 2 subject to y_i v.x_i >= 1. Constraint i is document i."""
    X = checks.floats("X", X, (None, None)).astype(np.float64)
    n = len(X)
    y = checks.labels(labels, n)
    keys = np.vstack([y[:, None] * X, np.zeros(X.shape[1])])  # y_i x_i is its difference to a row of zeros
    pairs, b = np.stack([np.arange(n), np.full(n, n)], axis=1), np.ones(n)
    v, duals = shortest(keys, pairs, b, solver, options)
    return MaxMargin(v, duals, pairs, b, keys)


def selection_matrix(problem: SelectionProblem, selection) -> sparse.csr_array:
    """The selected tokens as a 0/1 matrix (n, m), each checked to stand in its document."""
    n, m = problem.counts.shape
    if len(selection) != n:
        raise ValueError(f"selection has length {len(selection)}, but there are {n} documents")
    sets = [np.unique(np.asarray(list(s) if isinstance(s, (set, frozenset)) else s)) for s in selection]
    sizes = np.array([s.size for s in sets])
    if not sizes.all():
        raise ValueError(f"selection[{np.argmin(sizes)}] is empty: every document needs a selected token")
    i, s = np.repeat(np.arange(n), sizes), np.concatenate(sets)
    if not np.issubdtype(s.dtype, np.integer):
        raise ValueError(f"selection holds {s.dtype} numbers, but row indices are needed")
    wrong = np.flatnonzero((s < 0) | (s >= m))
    if not wrong.size:
        wrong = np.flatnonzero(problem.counts[i, s] == 0)
    if wrong.size:
        raise ValueError(f"selection[{i[wrong[0]]}] names row {s[wrong[0]]}, which is not a token of that document")
    return sparse.csr_array((np.ones(len(s)), (i, s)), shape=(n, m))


def constraints(problem: SelectionProblem, selection, relaxed=()) -> tuple[np.ndarray, np.ndarray]:
    """The distinct pairs (s, u), selected and not, that some document holds together: (k, 2), and their bounds (k,)."""
    M = selection_matrix(problem, selection)
    n = M.shape[0]
    relaxed = np.asarray(list(relaxed), dtype=int)
    if ((relaxed < 0) | (relaxed >= n)).any():
        raise ValueError(f"relaxed names a document outside 0..{n - 1}")
    rest = problem.counts.sign() - M
    rest.eliminate_zeros()
    weight = np.full(n, n + 1.0)
    weight[relaxed] = 1.0  # so that a sum above n has a document in it that is not relaxed
    P = (M.T @ rest.multiply(weight[:, None])).tocoo()  # the product meets every pair once: no list with repeats
    return np.stack([P.row, P.col], axis=1), (P.data > n).astype(np.float64)


def angle(a, b) -> float:
    """The angle between two vectors in radians, right for the smallest angles, where arccos is not."""
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    return float(2 * np.arctan2(np.linalg.norm(a - b), np.linalg.norm(a + b)))
