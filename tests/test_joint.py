"""Joint training against autograd, a convex solver, exhaustive search and hand calculation."""

import cvxpy as cp
import numpy as np
import pytest
import torch

from attnlib import Joint, max_margin
from attnlib.joint import dominance, label_margin_dominates, log_softplus, ratio_direction, slack_margins
from attnlib.margin import angle


def figure3(third):
    X = [[[0, 0], [1, 1]], [[0, 0], [1, -1]], [[0, 0], third]]
    return Joint(np.array(X, float), [1, -1, 1])


def test_directions_against_autograd():
    rng = np.random.default_rng(0)
    joint = Joint(rng.normal(size=(5, 4, 3)), [1, -1, 1, 1, -1], W=rng.normal(size=(2, 3)))
    v, p = rng.normal(size=3), rng.normal(size=2)
    X, W, y = (torch.tensor(np.asarray(x, float)) for x in (joint.X, joint.W, joint.labels))
    tv, tp = torch.tensor(v, requires_grad=True), torch.tensor(p, requires_grad=True)
    x = (torch.softmax(X @ W.T @ tp, dim=1)[..., None] * X).sum(1)
    grads = torch.autograd.grad(torch.nn.functional.softplus(-y * (x @ tv)).mean(), (tv, tp))
    for g, grad in zip(joint.directions(v, p), grads):
        assert np.abs(g + (grad / grad.norm()).numpy()).max() < 1e-12
    assert np.abs(joint.features(p) - x.detach().numpy()).max() < 1e-12


def test_directions_do_not_underflow():
    g, h = figure3([0.5, 1.0]).directions(np.array([0.0, 5000.0]), np.array([4000.0, 1000.0]))
    assert np.linalg.norm(g) == pytest.approx(1) and np.linalg.norm(h) == pytest.approx(1)


def test_published_figure_3():
    for third, direction in (([0.5, 1.0], [4, 1]), ([0.5, 1.5], [1, 0])):
        V, P = figure3(third).descend([-1.0, 0.0], [0.0, -1.0], 1000, 0.1)
        assert V.shape == P.shape == (1001, 2)
        assert angle(V[-1], [0, 1]) < 5e-3 and angle(P[-1], direction) < 5e-3


@pytest.mark.parametrize("r", [0.5, 5.0, 20.0])
def test_best_head_against_a_convex_solver(r):
    rng = np.random.default_rng(1)
    joint = Joint(rng.normal(size=(8, 3, 4)), rng.choice([-1, 1], 8))
    p = rng.normal(size=4)
    v = cp.Variable(4)
    A = joint.labels[:, None] * joint.features(p)
    cp.Problem(cp.Minimize(cp.sum(cp.logistic(-A @ v))), [cp.norm(v) <= r]).solve(solver="CLARABEL")
    assert np.linalg.norm(joint.best_head(p, r) - v.value) < 1e-3 * r


def test_joint_path_against_a_grid():
    joint, r, R = figure3([0.5, 1.5]), 4.0, 6.0
    v, p = joint.path(r, R, np.array([0.0, 1.0]), np.array([1.0, 0.1]))
    phi = np.linspace(0, 2 * np.pi, 181)
    circle = np.stack([np.cos(phi), np.sin(phi)], axis=1)
    grid = min(joint.at(r * w).tail(R * circle).loss().min() for w in circle)
    assert joint.at(v).loss(p) <= grid + 1e-12
    assert np.linalg.norm(v) <= r * (1 + 1e-9) and np.linalg.norm(p) <= R * (1 + 1e-9)


def test_ratio_direction_by_hand():
    joint = figure3([0.5, 1.5])
    assert angle(ratio_direction(joint, [1, 3, 5], 0.0), [5, 1]) < 1e-6
    for c in (1.0, 3.0, np.inf):
        assert angle(ratio_direction(joint, [1, 3, 5], c), [1, 0]) < 1e-6
    # where the second and the third term are equal: x - y = x/2 + 3y/2 + c/2
    u = ratio_direction(joint, [1, 3, 5], 0.5)
    assert u[0] - u[1] == pytest.approx(u[0] / 2 + 1.5 * u[1] + 0.25, abs=1e-6)


def test_assumption_c():
    assert label_margin_dominates(figure3([0.5, 1.0]), [1, 3, 5]) > 0.4
    assert label_margin_dominates(figure3([0.5, 1.5]), [1, 3, 5]) <= 0
    v, delta = slack_margins(figure3([0.5, 1.5]), [1, 3, 5])
    assert np.allclose(v, [0, 1]) and np.allclose(delta, [0, 0, 0.5])
    # all attention of the first document on its zero: the label margin is 0, and so the dominance 1
    A = np.array([[[1.0, 0], [0, 1], [0, 1]]])
    assert dominance(figure3([0.5, 1.0]), [1, 3, 5], A) == pytest.approx([1.0])


def test_log_softplus():
    x = np.array([-2000.0, -31.0, -29.0, 0.0, 5.0])
    expected = [-2000.0, -31.0, -29.0, np.log(np.log(2)), np.log(np.log1p(np.exp(5.0)))]
    assert np.allclose(log_softplus(x), expected, atol=1e-12)


def test_bad_input_is_refused():
    joint = figure3([0.5, 1.0])
    with pytest.raises(ValueError, match="rate is"):
        joint.descend([0.0, 1.0], [1.0, 0.0], 5, -0.1)
    with pytest.raises(ValueError, match="v has shape"):
        joint.at([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="X has shape"):
        Joint(np.zeros((2, 3)), [1, -1])
    assert max_margin(joint.base, [1, 3, 5]).p == pytest.approx([4 / 3, 1 / 3])
