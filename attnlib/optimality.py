"""Which tokens: selected by p, optimal by label, neighbours of a selection, and local optimality.

The score of token u in document i is y_i gamma_u. Definitions 1 and 2 of the max-margin paper; what they decide is in
chapter "Gradient flow on p". A selection is one row a document, (n,), or a collection of rows for each (ties).
"""

import warnings

import numpy as np

from .margin import TIGHT, MaxMargin, max_margin, selection_matrix
from .problem import SelectionProblem
from .shortest import Infeasible


def selected(problem: SelectionProblem, p) -> np.ndarray:
    """The row with the largest score K_u.p in each document: (n,). Of tied rows the first, and a warning says so."""
    return _first(problem, selected_sets(problem, p), "p")


def optimal_tokens(problem: SelectionProblem) -> np.ndarray:
    """The row with the largest y_i gamma_u in each document: (n,). Of tied rows the first, and a warning says so."""
    return _first(problem, optimal_sets(problem), "y gamma")


def selected_sets(problem: SelectionProblem, p, tolerance: float = 0.0) -> list[np.ndarray]:
    """All rows within `tolerance` of the largest score K_u.p, for each document."""
    return _top(problem, (problem.keys @ problem.check_point(p))[problem.counts.indices], tolerance)


def optimal_sets(problem: SelectionProblem, tolerance: float = 0.0) -> list[np.ndarray]:
    """All rows within `tolerance` of the largest y_i gamma_u, for each document."""
    return _top(problem, _label_scores(problem), tolerance)


def neighbours(problem: SelectionProblem, selection, solution: MaxMargin | None = None) -> list[np.ndarray]:
    """The rows u of each document with p.(K_s - K_u) = 1 for a selected s, p the max-margin solution of the selection.

    Pass the solution if it is at hand; otherwise it is computed, and an infeasible selection raises `Infeasible`.
    """
    M = selection_matrix(problem, selection)
    solution = max_margin(problem, selection) if solution is None else solution
    C, z = problem.counts, problem.keys @ solution.p
    # the lowest selected score of a document is the one that its neighbours touch
    lowest = np.minimum.reduceat(z[M.indices], M.indptr[:-1])
    touches = np.abs(np.repeat(lowest, problem.widths) - z[C.indices] - 1) <= TIGHT
    return [C.indices[a:b][touches[a:b]] for a, b in zip(C.indptr[:-1], C.indptr[1:])]


def is_locally_optimal(problem: SelectionProblem, selection, solution: MaxMargin | None = None) -> bool:
    """Whether every selected token scores strictly higher, in y_i gamma, than every neighbour in its document.

    An infeasible selection has no max-margin solution and is not locally optimal.
    """
    try:
        touching = neighbours(problem, selection, solution)
    except Infeasible:
        return False
    M, gamma = selection_matrix(problem, selection), problem.values
    rows = zip(problem.labels, np.split(M.indices, M.indptr[1:-1]), touching)
    return all((y * gamma[chosen]).min() > (y * gamma[others]).max(initial=-np.inf) for y, chosen, others in rows)


def _label_scores(problem):
    return np.repeat(problem.labels, problem.widths) * problem.values[problem.counts.indices]


def _top(problem, scores, tolerance):
    near = scores >= np.repeat(problem.maxima(scores), problem.widths) - tolerance
    C = problem.counts
    return [C.indices[a:b][near[a:b]] for a, b in zip(C.indptr[:-1], C.indptr[1:])]


def _first(problem, sets, by):
    tied = [i for i, rows in enumerate(sets) if len(rows) > 1]
    if tied:
        warnings.warn(
            f"{len(tied)} of {len(sets)} documents have several best tokens by {by}, the first of them document "
            f"{tied[0]}: the first token is taken, `selected_sets` and `optimal_sets` give all",
            stacklevel=3,
        )
    return np.array([rows[0] for rows in sets])
