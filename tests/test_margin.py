"""The hard-margin reference against other solvers, exact solutions, and its own certificate."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.svm import SVC

from attnlib import SelectionProblem
from attnlib.margin import MaxMargin, angle, constraints, label_margin, max_margin
from attnlib.shortest import BATCH, Infeasible, rows


def gaussian(n, T, d, seed):
    rng = np.random.default_rng(seed)
    X, v, y = rng.standard_normal((n, T, d)), rng.standard_normal(d), rng.choice([-1.0, 1.0], n)
    return SelectionProblem.from_sequences(X, y, v)


def separable(n, T, d, seed):
    """A problem and a selection that some p makes, hence feasible."""
    problem = gaussian(n, T, d, seed)
    return problem, problem.best_token(problem.keys @ np.random.default_rng(seed + 1000).standard_normal(d))


def bags(n, m, d, seed):
    """A problem on token types that documents share, with repeats."""
    rng = np.random.default_rng(seed)
    C = np.maximum(rng.poisson(0.4, (n, m)), np.eye(n, m))
    return SelectionProblem(rng.standard_normal((m, d)), rng.standard_normal(m), C, rng.choice([-1.0, 1.0], n))


def all_differences(problem, sets):
    """The differences written as the definition says, with repeats."""
    K, tokens = problem.keys, [np.flatnonzero(row) for row in problem.counts.toarray()]
    return np.array([K[s] - K[u] for S, X in zip(sets, tokens) for s in S for u in X if u not in S])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shape", [(6, 8, 10), (4, 5, 3), (20, 10, 40)])
def test_against_slsqp_osqp_and_scs(shape, seed):
    problem, selection = separable(*shape, seed)
    solution = max_margin(problem, selection)
    A = all_differences(problem, [{s} for s in selection])
    x = cp.Variable(shape[2])
    for solver, options in (("OSQP", {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 10**6}), ("SCS", {"eps": 1e-9})):
        cp.Problem(cp.Minimize(cp.sum_squares(x)), [A @ x >= 1]).solve(solver=solver, **options)
        assert angle(solution.p, x.value) < 1e-5
        assert np.linalg.norm(x.value) * solution.margin == pytest.approx(1, abs=1e-5)
    if shape[2] <= 10:
        ranked = {"type": "ineq", "fun": lambda p: A @ p - 1, "jac": lambda p: A}
        start, options = np.linalg.pinv(A) @ np.full(len(A), 2.0), {"ftol": 1e-15, "maxiter": 1000}
        other = minimize(lambda p: p @ p / 2, start, jac=lambda p: p, constraints=ranked, options=options)
        assert np.linalg.norm(other.x - solution.p) * solution.margin < 1e-5


@pytest.mark.parametrize("solver", ["CLARABEL", "OSQP", "SCS", "NNLS"])
def test_every_solver_is_brought_to_the_same_certified_digits(solver):
    for seed in range(5):
        problem, selection = separable(20, 10, 40, seed)
        solution = max_margin(problem, selection, solver=solver)
        assert solution.certificate().worst < 1e-11
        assert np.abs(solution.p - max_margin(problem, selection, solver="NNLS").p).max() < 1e-10 / solution.margin


def test_against_sklearn_svc():
    problem, selection = separable(6, 8, 10, 3)
    A = all_differences(problem, [{s} for s in selection])
    # with every difference once on each side the intercept of SVC is 0, and its hard margin is ours
    svc = SVC(kernel="linear", C=1e10, tol=1e-10).fit(np.vstack([A, -A]), np.repeat([1, -1], len(A)))
    assert angle(svc.coef_[0], max_margin(problem, selection).p) < 1e-6
    X = np.vstack([A[:20], -A[:20]])
    y = np.repeat([1.0, -1.0], 20)
    svc = SVC(kernel="linear", C=1e10, tol=1e-10).fit(X, y)
    label = label_margin(X, y)
    assert np.abs(svc.coef_[0] - label.p).max() < 1e-6 / label.margin
    assert label.certificate().worst < 1e-11


def test_published_examples_have_their_exact_solutions():
    plane = np.diag([1.0, 1.0, 0.0])
    X = [[[-0.1, 1, 1], [1, 0, 0.9], [0, 0, 0.9]]]
    one = SelectionProblem.from_sequences(X, [1], [0, 0, 1], W=plane)
    assert np.allclose(max_margin(one, [0]).p, [-0.1 / 1.01, 1 / 1.01, 0], atol=1e-12)
    assert np.allclose(max_margin(one, [1]).p, [1, 0, 0], atol=1e-12)
    X = np.array([[[0, 0], [1, 1]], [[0, 0], [1, -1]], [[0, 0], [0.5, 1]]])
    three = SelectionProblem.from_sequences(X, [1, -1, 1], [0, 1])
    assert np.allclose(max_margin(three, [1, 3, 5]).p, [4 / 3, 1 / 3], atol=1e-12)
    assert np.allclose(label_margin(X[:, 1], [1, -1, 1]).p, [0, 1], atol=1e-12)
    X[2, 1] = 0.5, 1.5
    three = SelectionProblem.from_sequences(X, [1, -1, 1], [0, 1])
    assert np.allclose(max_margin(three, [1, 3, 5]).p, [1.25, 0.25], atol=1e-12)
    relaxed = max_margin(three, [1, 3, 5], relaxed=[2])
    assert np.allclose(relaxed.p, [1, 0], atol=1e-12)
    assert relaxed.certificate().worst < 1e-12


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=40, deadline=None)
def test_shared_tokens_and_tied_selections(seed, tied):
    problem = bags(6, 7, 12, seed)
    rng = np.random.default_rng(seed)
    sets = []
    for i in range(6):
        tokens = problem.counts[[i]].indices
        sets.append(set(rng.choice(tokens, rng.integers(1, len(tokens) + 1) if tied else 1, replace=False).tolist()))
    A = all_differences(problem, sets)
    pairs, b = constraints(problem, sets)
    assert len(np.unique(pairs, axis=0)) == len(pairs) and (b == 1).all()
    if len(A) == 0:
        assert not max_margin(problem, sets).p.any()
        return
    ours = rows(problem.keys, pairs)
    assert {tuple(a) for a in A} == {tuple(a) for a in ours}
    try:
        solution = max_margin(problem, sets, solver="NNLS")
    except Infeasible as error:
        # independent rows (d > m) are separable unless the documents want opposite orders
        cycle = rows(problem.keys, error.constraints)
        assert (error.weights > 0).all() and error.weights.sum() == pytest.approx(1)
        assert np.abs(error.weights @ cycle).max() < 1e-12
        return
    assert (A @ solution.p).min() > 1 - 1e-9
    assert solution.certificate().worst < 1e-9
    assert np.abs(solution.duals @ ours - solution.p).max() < 1e-9 * np.linalg.norm(solution.p)


def test_cutting_planes_meet_every_constraint():
    rng = np.random.default_rng(5)
    n, m, d = 800, 300, 12
    keys = rng.standard_normal((m, d))
    C = (rng.random((n, m)) < 0.05) | np.eye(n, m, dtype=bool)
    C[np.arange(n), rng.integers(0, m, n)] = True
    problem = SelectionProblem(keys, keys[:, 0], C, np.ones(n))
    selection = problem.best_token(keys @ rng.standard_normal(d))
    solution = max_margin(problem, selection)
    assert len(solution.constraints) > 4 * BATCH
    A = all_differences(problem, [{s} for s in selection])
    assert (A @ solution.p).min() > 1 - 1e-10
    assert solution.certificate().worst < 1e-11
    x = cp.Variable(d)
    cp.Problem(cp.Minimize(cp.sum_squares(x)), [A @ x >= 1]).solve(solver="CLARABEL")
    assert angle(solution.p, x.value) < 1e-6


def test_small_batches_come_to_the_same_end(monkeypatch):
    monkeypatch.setattr("attnlib.shortest.BATCH", 2)
    for seed in range(20):
        problem, selection = separable(60, 20, 5, seed)
        A = all_differences(problem, [{s} for s in selection])
        solution = max_margin(problem, selection, solver="NNLS")
        assert (A @ solution.p).min() > 1 - 1e-9
        assert solution.certificate().worst < 1e-9


def test_certificate_sees_a_wrong_solution():
    problem, selection = separable(6, 8, 10, 0)
    right = max_margin(problem, selection)

    def with_(**changes):
        fields = {name: getattr(right, name) for name in ("p", "duals", "constraints", "bounds", "keys")}
        return MaxMargin(**(fields | changes)).certificate()

    assert with_(p=right.p * 0.9).primal == pytest.approx(0.1)
    assert with_(p=right.p * 1.1).gap > 1e-3 and with_(p=right.p * 1.1).primal == 0
    assert with_(duals=right.duals * 1.01).stationarity == pytest.approx(0.01)
    idle = np.setdiff1d(np.arange(len(right.duals)), right.tight)[0]
    changed = right.duals.copy()
    changed[idle] = 0.1
    assert with_(duals=changed).complementarity > 1e-4
    changed[idle] = -0.1
    assert with_(duals=changed).dual == pytest.approx(0.1)


@pytest.mark.parametrize("solver", ["CLARABEL", "NNLS"])
def test_infeasible_carries_a_farkas_certificate(solver):
    for seed in range(6):
        problem = gaussian(12, 4, 2, seed)
        with pytest.raises(Infeasible) as caught:
            max_margin(problem, 4 * np.arange(12), solver=solver)
        error = caught.value
        assert isinstance(error, ValueError)
        assert set(error.constraints[:, 0]) <= set(4 * np.arange(12))
        assert (error.weights > 0).all() and error.weights.sum() == pytest.approx(1, abs=1e-12)
        assert np.abs(error.weights @ rows(problem.keys, error.constraints)).max() < 1e-12
    # two documents that want opposite orders, and a token whose twin is not selected
    keys, values = np.eye(2), np.zeros(2)
    with pytest.raises(Infeasible) as caught:
        max_margin(SelectionProblem(keys, values, np.ones((2, 2)), [1, 1]), [0, 1])
    assert np.allclose(caught.value.weights, 0.5)
    with pytest.raises(Infeasible):
        max_margin(SelectionProblem(np.ones((2, 3)), values, np.ones((1, 2)), [1]), [0], solver=solver)
    with pytest.raises(Infeasible):
        label_margin([[1.0], [1.0]], [1, -1], solver=solver)


def test_a_thin_margin_is_still_found():
    for thin in (1e-3, 1e-5, 1e-7):
        keys = np.array([[0.0, 0.0], [-1.0, thin], [1.0, thin]])
        problem = SelectionProblem(-keys, np.zeros(3), [[1, 1, 1]], [1])
        solution = max_margin(problem, [0])
        assert np.allclose(solution.p * thin, [0, 1], atol=1e-8)


def one_document(differences):
    """A document whose token 0 differs from the others by the given vectors."""
    keys = np.vstack([np.zeros(len(differences[0])), -np.array(differences, dtype=float)])
    return SelectionProblem(keys, np.zeros(len(keys)), np.ones((1, len(keys))), [1])


def test_strict_complementarity_is_decided_over_all_multipliers():
    assert not max_margin(one_document([(1, 0, 0), (1, 1, 0)]), [0]).strictly_complementary
    # sparse multipliers (1, 0, 0) are optimal here, but (1, 1, 1)/3 are too
    several = max_margin(one_document([(1, 0), (1, 1), (1, -1)]), [0])
    assert len(several.tight) == 3 and several.strictly_complementary
    assert not max_margin(one_document([(1, 0), (1, 1), (1, 2)]), [0]).strictly_complementary
    for seed in range(5):
        assert max_margin(*separable(6, 8, 10, seed)).strictly_complementary


def test_small_and_trivial_cases():
    line = SelectionProblem.from_sequences([[[3.0], [1.0]], [[5.0], [4.5]]], [1, -1], [1.0])
    solution = max_margin(line, [0, 2])
    assert solution.p == pytest.approx([2.0]) and solution.margin == pytest.approx(0.5)
    assert solution.constraints[solution.support].tolist() == [[2, 3]]
    single = SelectionProblem.from_sequences([[[3.0, 1.0]]], [1], [1.0, 0.0])
    all_selected, all_relaxed = max_margin(line, [{0, 1}, {2, 3}]), max_margin(line, [0, 2], relaxed=[0, 1])
    for trivial in (max_margin(single, [0]), all_selected, all_relaxed):
        assert not trivial.p.any() and trivial.margin == np.inf
        assert trivial.certificate().worst == 0
    # a pair that one document relaxes and another does not is not relaxed
    shared = SelectionProblem(np.eye(3), np.zeros(3), [[1, 1, 0], [1, 1, 1]], [1, 1])
    half = max_margin(shared, [0, 0], relaxed=[1])
    assert dict(zip(map(tuple, half.constraints.tolist()), half.bounds.tolist())) == {(0, 1): 1, (0, 2): 0}


@pytest.mark.parametrize(
    "selection, message",
    [
        ([0], "length 1, but there are 2"),
        ([0, 1], r"selection\[1\] names row 1"),
        ([0, 9], r"selection\[1\] names row 9"),
        ([-1, 2], r"selection\[0\] names row -1"),
        ([0.0, 2.0], "float64"),
        ([{0}, set()], r"selection\[1\] is empty"),
        ([{0}, {2, 0}], r"selection\[1\] names row 0"),
    ],
)
def test_a_bad_selection_is_refused(selection, message):
    problem = gaussian(2, 2, 3, 0)
    with pytest.raises(ValueError, match=message):
        max_margin(problem, selection)


def test_other_bad_input_is_refused():
    problem = gaussian(2, 2, 3, 0)
    with pytest.raises(ValueError, match="outside 0..1"):
        max_margin(problem, [0, 2], relaxed=[2])
    with pytest.raises(ValueError, match="'NNLS' or one of"):
        max_margin(problem, [0, 2], solver="NOPE")


def test_relaxed_problems_are_optimal_too():
    for seed, relaxed in product(range(5), ([0], [0, 3, 5])):
        problem, selection = separable(6, 8, 10, seed)
        solution, full = max_margin(problem, selection, relaxed=relaxed), max_margin(problem, selection)
        assert solution.certificate().worst < 1e-11
        assert solution.margin >= full.margin - 1e-12
        document = solution.constraints[:, 0] // 8
        assert ((solution.bounds == 0) == np.isin(document, relaxed)).all()


def test_rates_by_hand():
    # a = (1, theta), (1, -theta): margin 1, weights one half each, variance theta^2, nothing slack
    X = np.array([[[1, 0.4], [0, 0]], [[1, -0.4], [0, 0]]])
    solution = max_margin(SelectionProblem.from_sequences(X, [1, 1], [1.0, 0.0]), [0, 2])
    assert solution.rates() == pytest.approx((0.16, np.inf, 1.0))
    # a third pair with a.u = 1.5 is slack by one half
    X = np.concatenate([X, [[[1.5, 3.0], [0, 0]]]])
    solution = max_margin(SelectionProblem.from_sequences(X, [1, 1, 1], [1.0, 0.0]), [0, 2, 4])
    assert solution.rates() == pytest.approx((0.16, 0.5, 1.0))


def test_rates_of_a_single_tight_pair_and_of_dependent_ones():
    X = np.array([[[2.0, 0.0], [0, 0]]])
    solution = max_margin(SelectionProblem.from_sequences(X, [1], [1.0, 0.0]), [0])
    assert solution.rates() == pytest.approx((np.inf, np.inf, 2.0))
    X = np.array([[[1, theta], [0, 0]] for theta in (-1.0, 0.0, 1.0)])
    with pytest.raises(ValueError, match="affinely dependent"):
        max_margin(SelectionProblem.from_sequences(X, [1, 1, 1], [1.0, 0.0]), [0, 2, 4]).rates()


@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 4), st.booleans())
@settings(max_examples=100, deadline=None)
def test_label_margin_by_its_optimality_conditions(seed, n, d, coarse):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], n)
    X = np.round(2 * X) / 2 if coarse else X
    rows_ = y[:, None] * X
    try:
        solution = label_margin(X, y, solver="NNLS")
    except Infeasible as error:  # a convex combination of y_i x_i is 0
        used = rows_[error.constraints[:, 0]]
        assert (error.weights > 0).all() and error.weights.sum() == pytest.approx(1)
        assert np.linalg.norm(error.weights @ used) <= 1e-8 * np.linalg.norm(rows_, axis=1).max(initial=1e-300)
        return
    v, lam = solution.p, solution.duals
    assert (rows_ @ v >= 1 - 1e-9).all() and (lam >= 0).all()
    np.testing.assert_allclose(lam @ rows_, v, rtol=0, atol=1e-8 * np.linalg.norm(v))
    assert lam @ np.abs(rows_ @ v - 1) <= 1e-8 * (v @ v)
