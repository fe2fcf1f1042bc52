"""The non-convex program against a scan of all directions, and against the convex one where there is no choice."""

import numpy as np
import pytest

from attnlib import SelectionProblem, max_margin, regularization_path
from attnlib.descent import difference
from attnlib.margin import angle
from attnlib.nonconvex import margin_of, max_margin_any


def instance(seed, n=3, T=5, size=2):
    rng = np.random.default_rng(seed)
    problem = SelectionProblem.from_sequences(rng.standard_normal((n, T, 2)), [1] * n, [1.0, 0.0])
    return problem, [T * i + rng.choice(T, size, replace=False) for i in range(n)]


def scanned_margin(problem, sets, directions):
    """The largest min_i (max_{O_i} z - max_{others} z) over many unit vectors, from the scores alone."""
    z, margins = directions @ problem.keys.T, np.full(len(directions), np.inf)
    for i, chosen in enumerate(sets):
        row = problem.counts.indices[problem.counts.indptr[i] : problem.counts.indptr[i + 1]]
        others = np.setdiff1d(row, chosen)
        margins = np.minimum(margins, z[:, chosen].max(axis=1) - z[:, others].max(axis=1))
    return margins.max()


def test_the_margin_equals_a_scan_of_the_circle():
    phi = np.linspace(0, 2 * np.pi, 20001)
    circle = np.stack([np.cos(phi), np.sin(phi)], axis=1)
    feasible = 0
    for seed in range(20):
        problem, sets = instance(seed)
        scanned = scanned_margin(problem, sets, circle)
        if scanned < 1e-3:
            with pytest.raises(ValueError, match="no choice of one token"):
                max_margin_any(problem, sets)
            continue
        feasible += 1
        longest = 2 * np.linalg.norm(problem.keys, axis=1).max()  # the margin changes by no more than this a radian
        for solution in max_margin_any(problem, sets):
            assert -1e-12 <= solution.margin - scanned <= longest * (phi[1] - phi[0]) / 2
            assert margin_of(problem, sets, solution.p) == pytest.approx(1, abs=1e-9)
            assert solution.certificate().worst < 1e-9
    assert feasible >= 8


def test_without_a_choice_it_is_the_convex_program():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        problem = SelectionProblem.from_sequences(rng.standard_normal((4, 4, 10)), [1] * 4, np.ones(10))
        selection = 4 * np.arange(4) + rng.integers(0, 4, 4)
        (found,) = max_margin_any(problem, selection)
        np.testing.assert_allclose(found.p, max_margin(problem, selection).p, atol=1e-9)


def test_all_minimisers_are_found():
    keys = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.0, 0.0]]
    cross = SelectionProblem(keys, [1.0, 1, 1, 1, 0], [[1, 1, 1, 1, 1]], [1])
    found = sorted(tuple(solution.p.round(9) + 0.0) for solution in max_margin_any(cross, [[0, 1, 2, 3]]))
    assert found == [(-1.0, 0.0), (0.0, -1.0), (0.0, 1.0), (1.0, 0.0)]
    (only,) = max_margin_any(SelectionProblem([[2.0], [-1.0], [0.0]], [1.0, 1, 0], [[1, 1, 1]], [1]), [[0, 1]])
    assert only.p == pytest.approx([0.5])


def test_a_choice_can_be_feasible_where_ranking_all_is_not():
    problem = SelectionProblem([[1.0], [-1.0], [0.0]], [1.0, 1.0, 0.0], [[1, 1, 1]], [1])
    with pytest.raises(ValueError, match="contradict"):
        max_margin(problem, [[0, 1]])
    assert len(max_margin_any(problem, [[0, 1]])) == 2


def test_documents_with_nothing_outside_ask_for_nothing():
    problem = SelectionProblem([[1.0], [0.0]], [1.0, 0.0], [[1, 1], [1, 1]], [1, 1])
    (found,) = max_margin_any(problem, [[0], [0, 1]])
    assert found.p == pytest.approx([1.0])
    assert margin_of(problem, [[0, 1], [0, 1]], [1.0]) == np.inf


def test_bad_sets_are_refused():
    problem, _ = instance(0)
    with pytest.raises(ValueError, match=r"selection\[0\] names row 7"):
        max_margin_any(problem, [[7], [5], [10]])
    with pytest.raises(ValueError, match="p has shape"):
        margin_of(problem, [[0], [5], [10]], [1.0])


def test_the_path_tells_apart_directions_whose_losses_tend_to_one_limit():
    keys = [[1, 0], [-1, 0.5], [0, 0], [0.2, 1], [0, 0], [-0.6, 0.4]]
    problem = SelectionProblem(keys, [1.0, 1, 0, 1, 0.2, 0.3], np.kron(np.eye(2), np.ones(3)), [1, 1])
    (shortest,) = max_margin_any(problem, [[0, 1], [3]])
    near, far = regularization_path(problem, [10.0, 1000.0], starts=2)
    assert angle(far, shortest.p) < 1e-3 < angle(near, shortest.p) < 0.1
    other = np.array([-0.0555, 0.9985])  # selects the second token, of the same value, with a smaller margin
    assert problem.loss(1000 * other) == problem.loss(far)
    assert difference(problem, 1000 * other, far) > 0 > difference(problem, far, 1000 * other)
