"""Descent against autograd, and the regularisation path against exhaustive search and its theorems."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import dense_gradient, dense_loss, problems

from attnlib import SelectionProblem, descend, max_margin, optimal_tokens, regularization_path, selected
from attnlib.descent import difference, minimise_in_ball
from attnlib.margin import angle


def gaussian(n, T, d, seed):
    rng = np.random.default_rng(seed)
    X, v, y = rng.standard_normal((n, T, d)), rng.standard_normal(d), rng.choice([-1.0, 1.0], n)
    return SelectionProblem.from_sequences(X, y, v)


@pytest.mark.parametrize("rule", ["plain", "normalized"])
def test_descent_against_autograd(rule):
    problem = gaussian(5, 4, 6, 0)
    K, gamma, y = (torch.tensor(x) for x in (problem.keys, problem.values, problem.labels))
    start = np.random.default_rng(1).standard_normal(6)
    p = torch.tensor(start, requires_grad=True)
    points = descend(problem, start, steps=30, rate=0.3, rule=rule)
    assert points.shape == (31, 6) and (points[0] == start).all()
    for k in range(30):
        attention = torch.softmax((K @ p).reshape(5, 4), dim=1)
        loss = torch.nn.functional.softplus(-y * (attention * gamma.reshape(5, 4)).sum(1)).mean()
        (grad,) = torch.autograd.grad(loss, p)
        step = grad / grad.norm() if rule == "normalized" else grad
        p = (p - 0.3 * step).detach().requires_grad_()
        assert np.abs(points[k + 1] - p.detach().numpy()).max() < 1e-10


@pytest.mark.parametrize("rule", ["plain", "normalized"])
def test_several_starts_are_each_followed(rule):
    problem = gaussian(5, 4, 6, 3)
    starts = np.random.default_rng(0).standard_normal((4, 6))
    together = descend(problem, starts, 20, 0.5, rule)
    assert together.shape == (21, 4, 6)
    for k in range(4):
        assert np.abs(together[:, k] - descend(problem, starts[k], 20, 0.5, rule)).max() < 1e-10
    assert descend(problem, starts, 0, 0.5).shape == (1, 4, 6)


def test_published_descent_reaches_its_directions():
    # one input: from y >= -0.5 to the global max-margin direction, from below to the local one, at any norm
    X = [[[-0.1, 1, 1], [1, 0, 0.9], [0, 0, 0]]]
    problem = SelectionProblem.from_sequences(X, [1], [0, 0, 1], W=np.diag([1.0, 1.0, 0.0]))
    starts = [[0, y, 0] for y in (1.0, 0.0, -1.0, -1.5)]
    end = descend(problem, starts, steps=20000, rate=0.1)[-1]
    assert np.linalg.norm(end, axis=1).min() > 1500
    for p, token in zip(end, (0, 0, 1, 1)):
        assert angle(p, max_margin(problem, [token]).p) < 1e-2


def test_path_against_a_grid_on_the_circle():
    phi = np.linspace(0, 2 * np.pi, 20001)
    for seed in range(4):
        problem = gaussian(3, 4, 2, seed)
        radii = [0.5, 2.0, 5.0]
        path = regularization_path(problem, radii)
        for R, p in zip(radii, path):
            circle = R * np.stack([np.cos(phi), np.sin(phi)], axis=1)
            disc = np.linspace(0.02, 1, 50)[:, None, None] * circle[::40]
            grid = min(problem.tail(disc.reshape(-1, 2)).loss().min(), problem.tail(circle).loss().min())
            assert problem.loss(p) <= grid + 1e-12 and np.linalg.norm(p) <= R * (1 + 1e-12)


def test_path_tends_to_the_max_margin_direction_of_the_optimal_tokens():
    tried = 0
    for seed in (3, 4, 12, 14):
        problem = gaussian(6, 8, 10, seed)
        try:
            solution = max_margin(problem, optimal_tokens(problem))
        except ValueError:
            continue
        tried += 1
        radii = [10.0, 1e3, 1e4]
        path = regularization_path(problem, radii)
        assert (selected(problem, path[-1]) == optimal_tokens(problem)).all()
        assert 1e4 * angle(path[2], solution.p) == pytest.approx(1e3 * angle(path[1], solution.p), rel=0.2)
        assert angle(path[2], solution.p) < 2e-3
        for R, p in zip(radii, path):  # an implicit Euler step from 0
            assert np.linalg.norm(p - R * problem.direction(p)) < 1e-6 * R
    assert tried >= 2


def test_the_search_ends_as_newtons_method():
    problem = gaussian(6, 8, 10, 3)
    for R in (1.0, 10.0, 1000.0):
        (p,) = regularization_path(problem, [R])
        q = p + 1e-4 * R * np.random.default_rng(0).standard_normal(10) / max(1, R / 10)
        q = minimise_in_ball(problem, q * (R / np.linalg.norm(q)), R, steps=4)
        assert np.linalg.norm(q - R * problem.direction(q)) < 1e-7 * R


def test_path_stays_at_an_inner_minimum():
    K = np.array([[1.0], [0.0], [-1.0], [0.0]])
    problem = SelectionProblem(K, [1.0, 0, 1, 0], [[1, 1, 0, 0], [0, 0, 1, 1]], [1, 1])
    shifted = SelectionProblem(np.c_[K, [1.0, 0, 1, 0]], problem.values, problem.counts, problem.labels)
    assert np.abs(regularization_path(problem, [0.5, 50.0])).max() < 1e-6
    # with a second coordinate that both want, p grows along it and stays at 0 in the first
    path = regularization_path(shifted, [0.5, 50.0])
    assert np.allclose(path, [[0, 0.5], [0, 50]], atol=1e-5)


def test_difference_sees_what_the_loss_cannot():
    problem = gaussian(6, 8, 10, 3)
    p = max_margin(problem, optimal_tokens(problem)).p
    a, b = 200 * p, 201 * p
    assert problem.loss(a) == problem.loss(b)
    assert difference(problem, a, b) > 0 > difference(problem, b, a)
    q = np.random.default_rng(0).standard_normal((2, 10))
    assert np.sign(difference(problem, *q)) == np.sign(problem.loss(q[0]) - problem.loss(q[1]))


def test_bad_input_is_refused():
    problem = gaussian(2, 3, 4, 0)
    with pytest.raises(ValueError, match="rule is 'adam'"):
        descend(problem, np.zeros(4), 3, 0.1, rule="adam")
    with pytest.raises(ValueError, match="rate is -0.1"):
        descend(problem, np.zeros(4), 3, -0.1)
    with pytest.raises(ValueError, match="steps is -1"):
        descend(problem, np.zeros(4), -1, 0.1)
    with pytest.raises(ValueError, match="p has shape"):
        descend(problem, np.zeros((2, 5)), 1, 0.1)
    for radii in ([0.0, 1.0], [2.0, 1.0], [[1.0]]):
        with pytest.raises(ValueError, match="radii"):
            regularization_path(problem, radii)


@given(problems(), st.floats(0.01, 1.0), st.sampled_from(["plain", "normalized"]))
def test_every_step_goes_down_the_gradient_written_out(case, rate, rule):
    problem, p = case
    p = p / np.linalg.norm(p)
    G, terms = dense_gradient(problem, p)
    assume(np.linalg.norm(G) > 1e-6 * terms)
    try:
        points = descend(problem, p, steps=2, rate=rate, rule=rule)
    except ValueError as error:  # the second point may be a stationary one
        assert "grad L is 0" in str(error)
        return
    step = G / np.linalg.norm(G) if rule == "normalized" else G
    np.testing.assert_allclose(points[1], p - rate * step, rtol=0, atol=1e-8)
    if rule == "normalized":
        np.testing.assert_allclose(np.linalg.norm(np.diff(points, axis=0), axis=1), rate, rtol=1e-12)


@given(problems(), st.floats(0.1, 20.0), st.integers(0, 10**6))
@settings(max_examples=12, deadline=None)
def test_no_point_of_the_ball_that_is_tried_is_better_than_the_path(case, R, seed):
    problem, _ = case
    try:
        path = regularization_path(problem, [R / 2, R])
    except ValueError as error:
        assert "grad L is 0" in str(error)
        return
    assert (np.linalg.norm(path, axis=1) <= np.array([R / 2, R]) * (1 + 1e-9)).all()
    found = [dense_loss(problem, p) for p in path]
    assert found[1] <= found[0] + 1e-12
    rng = np.random.default_rng(seed)
    tried = rng.standard_normal((200, problem.keys.shape[1]))
    tried *= R * rng.random((200, 1)) / np.linalg.norm(tried, axis=1, keepdims=True)
    assert found[1] <= min(dense_loss(problem, p) for p in tried) + 1e-9
