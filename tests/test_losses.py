"""The three losses, alone and inside a selection problem, against mpmath and automatic differentiation."""

import dataclasses
import pickle

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import mp, mpf, workdps
from strategies import problems
from test_problem import EPS, softmax_terms

from attnlib import (
    CORRELATION,
    EXPONENTIAL,
    LOGISTIC,
    SelectionProblem,
    descend,
    gradient_flow,
    max_margin,
    regularization_path,
    selected,
)
from attnlib.losses import LOSSES
from attnlib.margin import angle

EXACT = {  # the loss and its derivative, in mpmath and in torch
    "logistic": (
        lambda u: mp.log1p(mp.exp(-u)),
        lambda u: -1 / (1 + mp.exp(u)),
        lambda u: torch.nn.functional.softplus(-u),
    ),
    "exponential": (lambda u: mp.exp(-u), lambda u: -mp.exp(-u), lambda u: torch.exp(-u)),
    "correlation": (lambda u: -u, lambda u: mpf(-1), lambda u: -u),
}
each_loss = pytest.mark.parametrize("ell", LOSSES, ids=lambda ell: ell.name)


@each_loss
@given(u=st.floats(-300, 300))
def test_value_slope_and_curvature_equal_mpmath(ell, u):
    value, derivative, _ = EXACT[ell.name]
    with workdps(700):
        slope, second = -derivative(mpf(u)), mp.diff(derivative, mpf(u))
        assert float(ell.value(u)) == pytest.approx(float(value(mpf(u))), rel=1e-13)
        assert float(ell.slope(u)) == pytest.approx(float(slope), rel=1e-12)
        assert float(ell.log_slope(u)) == pytest.approx(float(mp.log(slope)), rel=1e-14, abs=1e-300)
        if ell is CORRELATION:
            assert second == 0 and np.isneginf(ell.log_curvature(u))
        else:
            assert float(ell.log_curvature(u)) == pytest.approx(float(mp.log(second / slope**2)), rel=1e-9, abs=1e-9)


@each_loss
@given(u=st.floats(-300, 300), log_rise=st.one_of(st.floats(-40, 6), st.floats(-5000, -40)))
def test_drop_equals_mpmath(ell, u, log_rise):
    value = EXACT[ell.name][0]
    with workdps(3000):
        wanted = float(mp.log(value(mpf(u)) - value(mpf(u) + mp.exp(mpf(log_rise)))))
    assert float(ell.log_drop(u, log_rise)) == pytest.approx(wanted, rel=1e-12, abs=1e-12)


def by_torch(problem):
    """L as a function of a torch vector, every document a softmax of its own."""
    K, gamma, C = (torch.tensor(x) for x in (problem.keys, problem.values, problem.counts.toarray()))
    y, ell = torch.tensor(problem.labels), EXACT[problem.ell.name][2]

    def loss(p):
        A = torch.softmax(torch.log(C) + K @ p, dim=1)
        return ell(y * (A @ gamma)).mean()

    return loss


@each_loss
@given(case=problems())
def test_loss_gradient_and_hessian_equal_autograd(ell, case):
    problem, p = case
    problem, p = dataclasses.replace(problem, ell=ell), p * min(1, 4 / np.linalg.norm(p))
    loss, at = by_torch(problem), torch.tensor(p)
    assert problem.loss(p) == pytest.approx(loss(at).item(), rel=1e-12, abs=1e-14)
    gradient = torch.autograd.functional.jacobian(loss, at).numpy()
    scale = np.exp(2.0 if ell is EXPONENTIAL else 0.0) * (1 + np.abs(problem.keys).max()) ** 2
    np.testing.assert_allclose(problem.gradient(p), gradient, rtol=0, atol=1e-13 * scale)
    try:
        weights = problem.tail(p)
    except ValueError:
        np.testing.assert_allclose(gradient, 0, atol=1e-13 * scale)
        return
    np.testing.assert_allclose(-np.exp(weights.top) * weights.gradient(), gradient, rtol=0, atol=1e-13 * scale)
    hessian = torch.autograd.functional.hessian(loss, at).numpy()
    np.testing.assert_allclose(-np.exp(weights.top) * weights.hessian(), hessian, rtol=0, atol=1e-11 * scale)


@each_loss
@given(case=problems())
def test_direction_and_log_norm_equal_mpmath_at_any_norm(ell, case):
    problem, p = case
    problem, derivative = dataclasses.replace(problem, ell=ell), EXACT[ell.name][1]
    with workdps(60):
        G, sizes = [mpf(0)] * len(p), mpf(0)
        for y, (_, f, tokens) in zip(problem.labels, softmax_terms(problem, p), strict=True):
            weight = -mpf(y) * derivative(mpf(y) * f) / len(problem.labels)
            for t, (A_t, gamma_t, K_t) in enumerate(tokens):
                for A_s, gamma_s, K_s in tokens[:t]:
                    if K_s != K_t:
                        term = weight * A_s * A_t * (gamma_s - gamma_t)
                        G = [total + term * (a - b) for total, a, b in zip(G, K_s, K_t)]
                        sizes += abs(term)
        norm, largest = mp.norm(G), np.linalg.norm(problem.keys, axis=1).max()
        assume(norm > 0)
        tolerance = 16 * EPS * len(p) * (1 + largest * np.linalg.norm(p)) * sizes * largest / norm
        assume(tolerance < 1e-3)
        wanted, log_norm = np.array([float(x / norm) for x in G]), float(mp.log(norm))
    direction, got = problem.log_gradient(p)
    np.testing.assert_allclose(direction, wanted, rtol=0, atol=float(tolerance))
    assert got == pytest.approx(log_norm, rel=4 * EPS, abs=float(tolerance))


def gaussian(seed, ell, n=4, T=5, d=8):
    rng = np.random.default_rng(seed)
    X, v, y = rng.standard_normal((n, T, d)), rng.standard_normal(d), rng.choice([-1.0, 1.0], n)
    return SelectionProblem.from_sequences(X, y, v, ell=ell)


@each_loss
@pytest.mark.parametrize("size", [0.1, 3.0, 30.0, 300.0])
def test_log_excess_equals_mpmath(ell, size):
    for seed in range(5):
        problem = gaussian(seed, ell)
        p = size * np.random.default_rng(seed).standard_normal(8)
        value = EXACT[ell.name][0]
        with workdps(2000):
            best = problem.values[problem.best_token(problem.keys @ p)]
            terms = zip(problem.labels, best, softmax_terms(problem, p), strict=True)
            excess = mp.fsum(value(mpf(y) * f) - value(mpf(y) * mpf(gamma)) for y, gamma, (_, f, _) in terms) / 4
            log_size, sign = float(mp.log(abs(excess))), int(mp.sign(excess))
        found, found_sign = problem.tail(p).log_excess()
        assert found_sign == sign
        assert found == pytest.approx(log_size, rel=1e-12, abs=1e-10 * (1 + size))


@each_loss
def test_flow_descent_and_path_reach_the_max_margin_direction(ell):
    for seed in (0, 2):
        problem = gaussian(seed, ell)
        orbit = gradient_flow(problem, length=3000.0)
        limit = max_margin(problem, selected(problem, orbit.points[-1]))
        assert angle(orbit.tangents[-1], limit.p) < 1e-4 and angle(orbit.points[-1], limit.p) < 0.05
        end = descend(problem, orbit.points[-1], steps=5, rate=100.0)[-1]
        assert angle(end, limit.p) < 0.05
        (far,) = regularization_path(problem, [3000.0])
        assert angle(far, max_margin(problem, selected(problem, far)).p) < 0.02


@each_loss
def test_the_log_of_time_is_that_of_the_flow_in_t(ell):
    from scipy.integrate import solve_ivp

    problem = gaussian(1, ell)
    orbit = gradient_flow(problem, length=20.0, tolerance=1e-9)
    row = np.searchsorted(orbit.log_time, np.log(50.0))
    span = (0, np.exp(orbit.log_time[row]))
    end = solve_ivp(lambda t, p: -problem.gradient(p), span, np.zeros(8), method="DOP853", rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(end.y[:, -1], orbit.points[row], rtol=0, atol=1e-4)


def test_a_loss_is_part_of_the_problem_and_travels_with_it():
    problem = gaussian(0, EXPONENTIAL)
    assert problem.ell is EXPONENTIAL and gaussian(0, LOGISTIC).ell is LOGISTIC
    copy = pickle.loads(pickle.dumps(problem))
    assert copy.ell == EXPONENTIAL and copy.loss(np.ones(8)) == problem.loss(np.ones(8))
    with pytest.raises(ValueError, match="ell is 'hinge', but a loss of attnlib.losses is needed"):
        gaussian(0, "hinge")
