"""The flow: directions against extended precision, the orbit against its theory, the limit against the margin."""

from itertools import combinations

import mpmath as mp
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import dense_gradient, dense_loss, problems

from attnlib import Infeasible, SelectionProblem, descend, gradient_flow, important_tokens, max_margin, selected
from attnlib.examples import two_limits
from attnlib.flow import log_times, turning
from attnlib.margin import angle


def gaussian(n, T, d, seed):
    rng = np.random.default_rng(seed)
    X, v, y = rng.standard_normal((n, T, d)), rng.standard_normal(d), rng.choice([-1.0, 1.0], n)
    return SelectionProblem.from_sequences(X, y, v)


def by_definition(problem, p):
    """-grad L and L - L_best from the definitions, in as many digits as the cancellation takes."""
    K, gamma, y, C = problem.keys, problem.values, problem.labels, problem.counts.toarray()
    z = [mp.fsum(mp.mpf(a) * mp.mpf(b) for a, b in zip(row, p)) for row in K.tolist()]
    G, excess = mp.matrix(K.shape[1], 1), mp.mpf(0)
    for i, sign in enumerate(y.astype(int).tolist()):
        tokens = np.flatnonzero(C[i])
        e = {u: C[i, u] * mp.exp(z[u]) for u in tokens}
        total = mp.fsum(e.values())
        f = mp.fsum(e[u] * mp.mpf(gamma[u]) for u in tokens) / total
        best = max(tokens, key=lambda u: z[u])
        excess += mp.log1p(mp.exp(-sign * f)) - mp.log1p(mp.exp(-sign * mp.mpf(gamma[best])))
        for u in tokens:
            G += sign / (1 + mp.exp(sign * f)) * e[u] / total * (gamma[u] - f) * mp.matrix(K[u].tolist())
    return G / len(y), excess / len(y)


def by_pairs(problem, p):
    """The same from the pairwise form, in 60 digits at any |p|, exponents being unbounded; and the sums of the absolute
    values of all terms, which say how many digits cancel between tokens and documents."""
    K, gamma, y, C = problem.keys, problem.values, problem.labels, problem.counts.toarray()
    z = [mp.fsum(mp.mpf(a) * mp.mpf(b) for a, b in zip(row, p)) for row in K.tolist()]
    G, excess, terms_G, terms_excess = mp.matrix(K.shape[1], 1), mp.mpf(0), mp.mpf(0), mp.mpf(0)
    for i, sign in enumerate(y.astype(int).tolist()):
        tokens = np.flatnonzero(C[i]).tolist()
        e = {u: C[i, u] * mp.exp(z[u]) for u in tokens}
        total, best = mp.fsum(e.values()), max(tokens, key=lambda u: z[u])
        short = [e[u] * (mp.mpf(gamma[best]) - mp.mpf(gamma[u])) / total for u in tokens]
        f, g = gamma[best] - mp.fsum(short), 1 / (1 + mp.exp(sign * mp.mpf(gamma[best])))
        excess += mp.log1p(g * mp.expm1(sign * mp.fsum(short)))
        terms_excess += g * mp.fsum(map(abs, short))
        for s, t in combinations(tokens, 2):
            w = e[s] * e[t] / total**2 * (mp.mpf(gamma[s]) - mp.mpf(gamma[t])) * sign / (1 + mp.exp(sign * f))
            a = mp.matrix(K[s].tolist()) - mp.matrix(K[t].tolist())
            G += w * a
            terms_G += abs(w) * mp.norm(a)
    return G / len(y), excess / len(y), terms_G / len(y), terms_excess / len(y)


def with_shared_tokens(seed, ties):
    rng = np.random.default_rng(seed)
    m, d, n = 6, 3, 3
    C = np.maximum(rng.poisson(0.7, (n, m)), np.eye(n, m) + np.eye(n, m, 1))
    gamma = rng.integers(-1, 2, m).astype(float) if ties else rng.standard_normal(m)
    gamma[:3] = [0.0, 1.0, 0.5]  # so that not every value in a document is the same
    return SelectionProblem(rng.standard_normal((m, d)), gamma, C, rng.choice([-1.0, 1.0], n)), rng.standard_normal(d)


@pytest.mark.parametrize("ties", [True, False])
def test_the_pairwise_form_is_the_definition(ties):
    for seed in range(5):
        problem, p = with_shared_tokens(seed, ties)
        with mp.workdps(400):
            for a, b in zip(by_definition(problem, 50 * p), by_pairs(problem, 50 * p)):
                assert mp.norm(a - b) < mp.mpf(10) ** -100 * mp.norm(a)


@given(st.integers(0, 10**6), st.floats(-1, 4), st.booleans())
@settings(max_examples=100, deadline=None)
def test_direction_norm_and_excess_in_extended_precision(seed, log_size, ties):
    problem, p = with_shared_tokens(seed, ties)
    p *= 10**log_size / np.linalg.norm(p)
    with mp.workdps(60):
        G, excess, terms_G, terms_excess = by_pairs(problem, p)
        norm, size = mp.norm(G), abs(excess)
    # a score of size |p| |K| is itself only known to this
    rounding = 1e-14 + 10 * np.finfo(float).eps * np.abs(problem.keys).max() * np.linalg.norm(p)
    if 1e4 * norm > terms_G:
        direction, log_norm = np.array([float(x / norm) for x in G]), float(mp.log(norm))
        cancelled, (ours, ours_norm) = float(terms_G / norm), problem.log_gradient(p)
        assert np.abs(ours - direction).max() < 10 * rounding * cancelled
        assert ours_norm == pytest.approx(log_norm, rel=1e-14, abs=10 * rounding * cancelled)
    if 1e4 * size > terms_excess:
        ours_excess, ours_sign = problem.tail(p).log_excess()
        assert ours_sign == int(mp.sign(excess))
        near = 10 * rounding * float(terms_excess / size)
        assert ours_excess == pytest.approx(float(mp.log(size)), rel=1e-14, abs=near)


def test_documents_that_cancel_each_other_are_not_given_a_direction():
    # the same two tokens under both labels at f = 0: what is left is e^{-1000} below the terms that cancel
    problem = SelectionProblem([[1.0, 0], [0, 0], [0, -1]], [0.0, 1, 1], [[1, 1, 0], [1, 1, 1]], [1, -1])
    with pytest.raises(ValueError, match="0 to rounding"):
        problem.direction([1000.0, 1000.0])


def test_gradient_and_hessian_against_autograd():
    for seed in range(5):
        problem = gaussian(5, 4, 6, seed)
        K, gamma, y = (torch.tensor(x) for x in (problem.keys, problem.values, problem.labels))

        def loss(p):
            attention = torch.softmax((K @ p).reshape(5, 4), dim=1)
            return torch.nn.functional.softplus(-y * (attention * gamma.reshape(5, 4)).sum(1)).mean()

        p = np.random.default_rng(seed).standard_normal(6)
        tail = problem.tail(p)
        scale = np.exp(tail.top)
        grad = torch.autograd.functional.jacobian(loss, torch.tensor(p)).numpy()
        hess = torch.autograd.functional.hessian(loss, torch.tensor(p)).numpy()
        assert np.abs(tail.gradient() * scale + grad).max() < 1e-14
        assert np.abs(tail.hessian() * scale + hess).max() < 1e-14
        assert tail.loss() == pytest.approx(problem.loss(p), rel=1e-14)


@pytest.mark.parametrize("size", [0.0, 3.0, 300.0])
def test_turning_is_the_derivative_of_the_direction(size):
    problem = gaussian(6, 5, 4, 2)
    orbit = gradient_flow(problem, length=max(size, 1e-3))
    p, h = orbit.points[-1], 1e-5
    numeric = [(problem.direction(p + h * e) - problem.direction(p - h * e)) / (2 * h) for e in np.eye(4)]
    assert np.abs(turning(problem, p) - np.transpose(numeric)).max() < 1e-8


def test_many_points_are_evaluated_as_each_alone():
    problem = gaussian(6, 5, 4, 0)
    p = np.random.default_rng(0).standard_normal((7, 4)) * np.logspace(-1, 5, 7)[:, None]
    directions, log_norms = problem.log_gradient(p)
    for k in range(7):
        one, log_norm = problem.log_gradient(p[k])
        assert np.abs(directions[k] - one).max() < 1e-9 and log_norms[k] == pytest.approx(log_norm, rel=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_the_tangent_ends_at_the_max_margin_direction(seed):
    problem = gaussian(6, 8, 10, seed)
    orbit = gradient_flow(problem, length=1e5)
    solution = max_margin(problem, selected(problem, orbit.points[-1]))
    assert solution.certificate().worst < 1e-11
    assert angle(orbit.tangents[-1], solution.p) < 1e-8
    assert angle(orbit.points[-1], solution.p) > 1e-6  # the point is far behind its tangent
    # the sharp constants: t (L - L_r) -> |p^|^2 and |p_t| = |p^| log t + O(1)
    norm, log_t = 1 / solution.margin, orbit.log_time
    log_excess, sign = problem.tail(orbit.points[-1]).log_excess()
    assert sign == 1 and log_t[-1] + log_excess - 2 * np.log(norm) == pytest.approx(0, abs=1e-5)
    drift = np.linalg.norm(orbit.points, axis=1) - norm * log_t
    late = orbit.arclength > 5e4
    assert np.ptp(drift[late]) < 1e-3 < abs(drift[-1])


@pytest.mark.parametrize("method", ["LSODA", "BDF", "Radau"])
@pytest.mark.parametrize("turn", [-3.0, -2.75, 2.9, 3.1])
def test_a_far_start_does_not_jump_the_turn(turn, method):
    """A hundred units of straight flow, then a turn within one: compared with short steps all the way."""
    problem = two_limits()
    start = 100 * np.array([np.cos(turn), np.sin(turn)])
    orbit = gradient_flow(problem, start, length=600.0, method=method)
    steps = descend(problem, start, 2000, 0.2)
    assert problem.best_token(problem.keys @ steps[-1]).tolist() == [0, 2]
    assert problem.best_token(problem.keys @ orbit.points[-1]).tolist() == [0, 2]
    near = np.linalg.norm(orbit.points[:, None] - steps, axis=2).min(axis=1)
    assert near[orbit.arclength < 300].max() < 0.3  # the steps zigzag by half their length


def test_larger_problem():
    problem = gaussian(50, 20, 200, 1)
    orbit = gradient_flow(problem, length=1e4)
    assert angle(orbit.tangents[-1], max_margin(problem, selected(problem, orbit.points[-1])).p) < 1e-6


def test_the_orbit_is_the_one_of_gradient_descent_in_real_time():
    problem = gaussian(4, 3, 5, 1)
    orbit = gradient_flow(problem, length=3.0, tolerance=1e-10)
    t = np.exp(orbit.log_time)
    assert t[0] == 0 and (np.diff(t) > 0).all() and (np.diff(orbit.loss) < 0).all()
    p, rate = np.zeros(5), t[-1] / 8000
    for _ in range(8000):  # the midpoint rule on dp/dt = -grad L
        p = p - rate * problem.gradient(p - rate / 2 * problem.gradient(p))
    assert np.linalg.norm(p - orbit.points[-1]) < 1e-6
    lengths = np.linalg.norm(np.diff(orbit.points, axis=0), axis=1).sum()
    assert lengths == pytest.approx(3.0, abs=1e-3) and orbit.arclength[-1] == 3.0
    assert np.allclose(np.linalg.norm(orbit.tangents, axis=1), 1)
    assert orbit.loss[-1] == pytest.approx(problem.loss(orbit.points[-1]))
    for method in ("BDF", "Radau"):
        other = gradient_flow(problem, length=3.0, method=method, tolerance=1e-10)
        assert np.abs(other.points[-1] - orbit.points[-1]).max() < 1e-6
        assert other.log_time[-1] == pytest.approx(orbit.log_time[-1], abs=1e-6)


def test_log_time_is_exact_for_exponentials_and_good_for_curves():
    tau = np.array([0.0, 1.0, 4.0, 500.0, 3000.0])
    for rate in (2.0, 1e-12, -0.5):
        log_norms = -rate * tau
        got = log_times(tau, log_norms, (log_norms[1:] + log_norms[:-1]) / 2)
        top = np.maximum(rate * tau[1:], 0)
        expected = top + np.log(np.abs(np.exp(rate * tau[1:] - top) - np.exp(-top))) - np.log(abs(rate))
        if rate == 1e-12:
            expected = np.log(tau[1:])
        assert got[0] == -np.inf and np.allclose(got[1:], expected, rtol=1e-12, atol=1e-8)
    tau = np.linspace(0, 3, 31)
    middle = (tau[1:] + tau[:-1]) / 2
    got = log_times(tau, -np.log(1 + tau**2), -np.log(1 + middle**2))
    assert np.allclose(np.exp(got), tau + tau**3 / 3, rtol=1e-6)


def counter_example():
    E = np.array([[0.0, 0, 1], [-1, 0, 1], [-1, -1, 1]])
    return SelectionProblem(E, [5.0, 0, 0], [[1, 1, 0], [1, 0, 1]], [1, 1])


def test_without_strict_complementarity_the_tangent_is_slow():
    problem = counter_example()
    solution = max_margin(problem, [0, 0])
    assert not solution.strictly_complementary
    orbit = gradient_flow(problem, length=1e4)
    late = orbit.arclength > 100
    errors = [angle(g, solution.p) for g in orbit.tangents[late]]
    assert np.allclose(errors * orbit.arclength[late], 1, atol=0.05)
    assert errors[-1] * 1e4 == pytest.approx(1.0001, abs=1e-3)
    # "settled" keeps its word in this case too
    early = gradient_flow(problem, length=1e6, settled=1e-3)
    assert early.ended == "settled" and angle(early.tangents[-1], solution.p) < 2e-3


def test_settled_stops_early_and_right():
    problem = gaussian(6, 8, 10, 1)
    orbit = gradient_flow(problem, length=1e6, settled=1e-9)
    assert orbit.ended == "settled" and orbit.arclength[-1] < 1e4
    assert angle(orbit.tangents[-1], max_margin(problem, selected(problem, orbit.points[-1])).p) < 1e-9


def test_a_finite_minimum_ends_the_orbit():
    # two documents pull p in opposite ways: L is even in p with its minimum at 0
    K = np.array([[1.0], [0.0], [-1.0], [0.0]])
    problem = SelectionProblem(K, [1.0, 0, 1, 0], [[1, 1, 0, 0], [0, 0, 1, 1]], [1, 1])
    orbit = gradient_flow(problem, start=[0.7], length=100.0)
    assert orbit.ended == "stationary"
    assert abs(orbit.points[-1, 0]) < 1e-6 and orbit.arclength[-1] == pytest.approx(0.7, abs=1e-6)
    assert abs(problem.gradient(orbit.points[-1])[0]) < 1e-6


def test_counts_enter_the_flow():
    problem = gaussian(3, 4, 6, 0)
    twice = SelectionProblem(problem.keys, problem.values, 2 * problem.counts, problem.labels)
    repeated = problem.counts.toarray()
    repeated[0, 0] = 5
    thrice = SelectionProblem(problem.keys, problem.values, repeated, problem.labels)
    a, b, c = (gradient_flow(x, length=5.0).points[-1] for x in (problem, twice, thrice))
    assert np.allclose(a, b, atol=1e-6) and np.linalg.norm(a - c) > 1e-2


def test_important_tokens_are_selected():
    corpus = important_tokens(n=40, T=6, important=2, irrelevant=6, seed=0)
    rng = np.random.default_rng(0)
    gamma = np.r_[6.0, 6.0, -6.0, -6.0, 0.1 * rng.standard_normal(6)]
    problem = SelectionProblem(rng.standard_normal((10, 30)) / 30**0.5, gamma, corpus.counts, corpus.labels)
    orbit = gradient_flow(problem, length=1e4)
    chosen = selected(problem, orbit.points[-1])
    assert (chosen < 4).all() and (np.sign(gamma[chosen]) == corpus.labels).all()
    assert angle(orbit.tangents[-1], max_margin(problem, chosen).p) < 1e-6


def test_bad_input_is_refused():
    problem = gaussian(2, 3, 4, 0)
    with pytest.raises(ValueError, match="length is -1"):
        gradient_flow(problem, length=-1)
    with pytest.raises(ValueError, match="method is 'Euler'"):
        gradient_flow(problem, method="Euler")
    with pytest.raises(ValueError, match=r"p has shape \(3,\)"):
        gradient_flow(problem, start=np.zeros(3))
    with pytest.raises(ValueError, match="grad L is 0"):
        gradient_flow(SelectionProblem([[1.0]], [1.0], [[1]], [1]))
    with pytest.raises(Infeasible):
        max_margin(SelectionProblem(np.ones((2, 1)), [1.0, 0], [[1, 1]], [1]), [0])


def test_an_orbit_whose_documents_balance_is_given_up_and_says_so():
    # Document 0 and 1 hold the same two tokens under both labels and come to rest; document 2 would go on for ever.
    keys = [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
    problem = SelectionProblem(keys, [1.0, 0.0, -1.0], [[1, 1, 0], [1, 2, 0], [0, 1, 1]], [1, -1, 1])
    orbit = gradient_flow(problem, length=1000.0)
    assert orbit.ended == "balanced" and orbit.arclength[-1] < 100
    assert 1e-6 < problem.tail(orbit.points[-1]).rounding(problem.tail(orbit.points[-1]).gradient()) < 1e-3
    assert abs(problem.gradient(orbit.points[-1])[0]) < 1e-9


@given(problems(), st.floats(0.5, 50.0))
@settings(max_examples=20, deadline=None)
def test_an_orbit_is_a_curve_of_steepest_descent(case, length):
    problem, p = case
    p = p / np.linalg.norm(p)
    try:
        orbit = gradient_flow(problem, start=p, length=length)
    except ValueError as error:
        assert "grad L is 0" in str(error)
        return
    arcs, chords = np.diff(orbit.arclength), np.linalg.norm(np.diff(orbit.points, axis=0), axis=1)
    assert (arcs > 0).all() and orbit.arclength[0] == 0 and orbit.arclength[-1] <= length * (1 + 1e-12)
    assert orbit.ended != "length" or orbit.arclength[-1] == pytest.approx(length)
    assert (chords <= arcs + 1e-5).all() and (orbit.points[0] == p).all()
    np.testing.assert_allclose(np.linalg.norm(orbit.tangents, axis=1), 1, rtol=1e-12)
    some = np.unique(np.linspace(0, len(orbit.loss) - 1, 10).astype(int))
    for q, tangent, loss in zip(orbit.points[some], orbit.tangents[some], orbit.loss[some]):
        assert loss == pytest.approx(dense_loss(problem, q), rel=1e-9, abs=1e-12)
        G, terms = dense_gradient(problem, q)
        if np.linalg.norm(G) > 1e-6 * terms > 1e-100:
            np.testing.assert_allclose(tangent, -G / np.linalg.norm(G), rtol=0, atol=1e-8)
    assert (np.diff(orbit.loss) <= 1e-6).all() and orbit.loss[-1] <= orbit.loss[0] + 1e-12
    assert (np.diff(orbit.log_time) >= 0).all()
