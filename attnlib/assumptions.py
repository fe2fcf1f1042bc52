"""The assumptions of the max-margin paper's theorems as predicates: silent where they hold, or the document at fault.

Each returns what the theorem needs from it and raises `Violated` otherwise, naming the document (or the point) and why.
B, strict scores and general position are decided, up to a stated tolerance. A is decided on a grid of an interval, C on
the points given: there they can be refuted, not proved. `common_token` is a case in which C is proved.
"""

from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from . import checks
from .joint import Joint, dominance, label_margin_of, selected_attention
from .margin import max_margin, selection_matrix
from .optimality import optimal_sets
from .problem import SelectionProblem
from .shortest import Infeasible


class Violated(ValueError):
    """An assumption does not hold; `document` is the one at fault, or None."""

    def __init__(self, message: str, document: int | None = None):
        super().__init__(message)
        self.document = document


class LossBounds(NamedTuple):
    """M0, the Lipschitz constant of l', and M1 = max |l'|, on a grid: both from below."""

    M0: float
    M1: float


def assumption_a(loss, interval=(-10.0, 10.0), points: int = 2001) -> LossBounds:
    """A: l strictly decreasing, l' bounded and Lipschitz. `loss` has `value` and `derivative`, both on arrays.

    Decided on `points` equidistant places of the interval: the values fall from each to the next, l' is negative,
    finite and the slope of the values, to the curvature.
    """
    u = np.linspace(*interval, points)
    value, slope = (np.asarray(f(u), dtype=float) + 0 * u for f in (loss.value, loss.derivative))
    if not (np.isfinite(value) & np.isfinite(slope)).all():
        raise Violated(f"assumption A: the loss or its derivative is not finite on {interval}")
    for falls, what in ((np.diff(value) < 0, "does not fall"), (slope < 0, "has a derivative that is not negative")):
        if not falls.all():
            raise Violated(f"assumption A: the loss {what} at u = {u[np.argmin(falls)]:.6g}")
    step = u[1] - u[0]
    M0 = float(np.abs(np.diff(slope)).max() / step)
    wrong = np.abs(np.diff(value) / step - (slope[:-1] + slope[1:]) / 2)
    if (wrong > 1e-6 + M0 * step).any():
        raise Violated(f"assumption A: `derivative` is not the slope of `value` at u = {u[wrong.argmax()]:.6g}")
    return LossBounds(M0, float(np.abs(slope).max()))


def strict_optimum(problem: SelectionProblem) -> np.ndarray:
    """Each document has one token of the best label-score; returns it, (n,)."""
    best = optimal_sets(problem)
    for i, rows in enumerate(best):
        if len(rows) > 1:
            raise Violated(f"document {i}: tokens {rows.tolist()} share the best label-score", i)
    return np.array([rows[0] for rows in best])


def assumption_b(problem: SelectionProblem, tolerance: float = 1e-12) -> np.ndarray:
    """B: in each document all tokens but the optimal one share one label-score, below it; returns the optimal, (n,).

    Scores within `tolerance` times the largest count as one. B alone does not make the selection feasible.
    """
    best, C = strict_optimum(problem), problem.counts
    allowed = tolerance * np.abs(problem.values).max()
    for i, (a, b) in enumerate(zip(C.indptr[:-1], C.indptr[1:])):
        others = problem.values[C.indices[a:b][C.indices[a:b] != best[i]]]
        if others.size and np.ptp(others) > allowed:
            raise Violated(
                f"assumption B: in document {i} the tokens beside the optimal one have label-scores from "
                f"{(problem.labels[i] * others).min():.6g} to {(problem.labels[i] * others).max():.6g}",
                i,
            )
    return best


def distinct_scores(problem: SelectionProblem) -> None:
    """No two tokens of a document have the same label-score."""
    C = problem.counts
    for i, (a, b) in enumerate(zip(C.indptr[:-1], C.indptr[1:])):
        rows = C.indices[a:b][np.argsort(problem.values[C.indices[a:b]])]
        same = np.flatnonzero(np.diff(problem.values[rows]) == 0)
        if same.size:
            raise Violated(f"document {i}: tokens {rows[same[0]]} and {rows[same[0] + 1]} have the same score", i)


def general_position(problem: SelectionProblem, selection, tolerance: float = 1e-9, most: int = 200_000) -> None:
    """The distinct differences K_s - K_u of a selection: any d are independent, and no p scores d + 1 of them at 1.

    Decided by the least singular value of every such set, relative to the largest; more than `most` sets are refused.
    """
    M, C, d = selection_matrix(problem, selection), problem.counts, problem.keys.shape[1]
    rest = (C.sign() - M).tocsr()
    rest.eliminate_zeros()
    pairs = [(i, s, u) for i in range(C.shape[0]) for s in M[[i]].indices for u in rest[[i]].indices]
    a, first = np.unique([problem.keys[s] - problem.keys[u] for _, s, u in pairs], axis=0, return_index=True)
    sets = comb(len(a), d) + comb(len(a), d + 1)
    if sets > most:
        raise ValueError(f"{sets} sets of differences to look at, more than most={most}")
    for rows, size, what in ((a, d, "are dependent"), (np.c_[a, np.ones(len(a))], d + 1, "can all score exactly 1")):
        for chosen in combinations(range(len(a)), size):
            sigma = np.linalg.svd(rows[list(chosen)], compute_uv=False)
            if sigma[-1] <= tolerance * sigma[0]:
                at = [pairs[first[k]] for k in chosen]
                named = ", ".join(f"{s} over {u} in document {i}" for i, s, u in at)
                raise Violated(f"general position: the differences {named} {what}", at[0][0])


def assumption_c(joint: Joint, selection, points) -> float:
    """C at the points p (k, d'): the largest nu that they allow in

        margin of the attention features at p  <=  Gamma - nu max_i (1 - attention on the selected token of i),

    with Gamma the label margin of the selected tokens. Raises if a point allows no nu > 0. Points where attention is
    within 1e-6 of the selected tokens say nothing; if all are such, nu is infinite.
    """
    full = selected_attention(joint, selection)
    Gamma = label_margin_of(joint, full)
    if Gamma == 0:
        raise Violated("assumption C: no v separates the selected tokens by label")
    nu = np.inf
    for p in checks.floats("points", points, (None, joint.base.keys.shape[1])):
        A = joint.attention(p)
        lost = 1 - A[full > 0]
        if lost.max() > 1e-6:
            nu = min(nu, dominance(joint, selection, [A])[0])
        if nu <= 1e-12:
            raise Violated(
                f"assumption C: at p = {np.round(p, 6).tolist()} the margin is that of the selected tokens, {Gamma:.6g}, "
                f"or more; document {lost.argmax()} of {len(A)} attends least to its selected token",
                int(lost.argmax()),
            )
    return nu


def common_token(X, labels, selection) -> tuple[float, float]:
    """C proved: the selected tokens are y_i a for one a, and every other token is shorter. Returns |a| and its nu,
    |a| - max |x|: the margin is at most the length of any one feature."""
    X = checks.floats("X", X, (None, None, None)).astype(np.float64)
    i = np.arange(len(X))
    a = checks.labels(labels, len(X))[:, None] * X[i, selection]
    if (a != a[0]).any():
        k = int(np.argmax((a != a[0]).any(axis=1)))
        raise Violated(f"the selected token of document {k} is not y a with the a of document 0", k)
    length = np.linalg.norm(X, axis=2)
    length[i, selection] = 0.0
    nu = np.linalg.norm(a[0]) - length.max(axis=1)
    if nu.min() <= 0:
        raise Violated(f"document {nu.argmin()} has a token as long as the selected one", int(nu.argmin()))
    return float(np.linalg.norm(a[0])), float(nu.min())


def feasible(problem: SelectionProblem, selection) -> None:
    """Some p ranks the selection strictly first; otherwise the documents whose constraints contradict each other."""
    try:
        max_margin(problem, selection)
    except Infeasible as refusal:
        used = refusal.constraints[refusal.weights > 0]
        at = [i for i, s in enumerate(selection) if s in used[:, 0]]
        raise Violated(f"no p ranks the selection first: documents {at} contradict each other", at[0]) from refusal
