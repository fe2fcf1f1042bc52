"""Several optimal tokens in a document: the shortest p that ranks some optimal token above all others (ATT-SVM').

For sets O_i of tokens of each document:

    min |p|^2 / 2   subject to   max_{s in O_i} min_{u in X_i, not in O_i} p.(K_s - K_u) >= 1   for all i.

The feasible set is the union, over the choices of one s_i in each O_i, of the polyhedra p.(K_{s_i} - K_u) >= 1: not
convex, but each piece is a max-margin problem. All pieces are looked at, save those that cannot hold the shortest p.
"""

import numpy as np
from scipy import sparse

from .margin import MaxMargin, max_margin, selection_matrix
from .problem import SelectionProblem
from .shortest import Infeasible


def max_margin_any(problem: SelectionProblem, sets, solver: str = "NNLS", **options) -> list[MaxMargin]:
    """All global minimisers, for a collection of rows for each document; several where the program is not convex.

    Documents are decided one after the other. Deciding more of them only adds constraints, so a branch longer than the
    best p found so far is left: exact, but the number of branches may still grow like the product of the set sizes.

    >>> line = SelectionProblem([[1.0], [-1.0], [0.0]], [1.0, 1.0, 0.0], [[1, 1, 1]], [1])
    >>> sorted(solution.p.round(9).tolist() for solution in max_margin_any(line, [[0, 1]]))
    [[-1.0], [1.0]]
    """
    M = selection_matrix(problem, sets)
    sets = np.split(M.indices, M.indptr[1:-1])
    order = sorted(range(len(sets)), key=lambda i: len(sets[i]))  # the forced ones first: bounds bite early
    found, shortest = [], np.inf
    branches = [()]
    while branches:
        choice = branches.pop()
        solution = _decided(problem, M, order[: len(choice)], choice, solver, options)
        if solution is None or np.linalg.norm(solution.p) > shortest * (1 + 1e-9):
            continue
        if len(choice) < len(order):
            branches += [(*choice, s) for s in sets[order[len(choice)]]]
        else:
            shortest = min(shortest, np.linalg.norm(solution.p))
            found.append(solution)
    if not found:
        raise ValueError("no choice of one token from each set can be ranked above the tokens outside the sets")
    return _distinct([x for x in found if np.linalg.norm(x.p) <= shortest * (1 + 1e-9)], 1e-7 * shortest)


def margin_of(problem: SelectionProblem, sets, p) -> float:
    """min_i max_{s in O_i} min_{u not in O_i} p.(K_s - K_u): the constraint of (ATT-SVM') holds where it is 1 or more.

    Documents whose tokens are all in O_i ask for nothing.
    """
    z, inside = problem.keys @ problem.check_point(p), selection_matrix(problem, sets)
    outside = problem.counts.sign() - inside
    best = [
        [z[x.indices[a:b]].max(initial=-np.inf) for a, b in zip(x.indptr[:-1], x.indptr[1:])]
        for x in (inside, _without_zeros(outside))
    ]
    return float(np.min(np.subtract(*best), initial=np.inf))


def _decided(problem, M, documents, choice, solver, options) -> MaxMargin | None:
    """The max-margin solution for the decided documents, each with its other optimal tokens left out."""
    if not documents:
        return MaxMargin(np.zeros(problem.keys.shape[1]), *(np.zeros(k) for k in (0, (0, 2), 0)), problem.keys)
    chosen = sparse.csr_array((np.ones(len(choice)), (np.arange(len(choice)), choice)), shape=(len(choice), M.shape[1]))
    counts = _without_zeros(problem.counts[documents].sign() - M[documents] + chosen)
    part = SelectionProblem(problem.keys, problem.values, counts, problem.labels[documents], problem.ell)
    try:
        return max_margin(part, choice, solver, **options)
    except Infeasible:
        return None


def _without_zeros(x) -> sparse.csr_array:
    x = sparse.csr_array(x)
    x.eliminate_zeros()
    return x


def _distinct(solutions, distance):
    kept = []
    for x in solutions:
        if all(np.linalg.norm(x.p - y.p) > distance for y in kept):
            kept.append(x)
    return kept
