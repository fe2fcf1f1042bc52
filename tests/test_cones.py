"""Cone constants against many-digit arithmetic and the bounds they promise; smoothness against automatic Hessians."""

import mpmath
import numpy as np
import pytest
import torch

from attnlib import SelectionProblem, cone_constants, is_locally_optimal, published_constants, smoothness
from attnlib.cones import cone_ratio
from attnlib.examples import figure1, two_limits
from attnlib.margin import max_margin
from attnlib.smoothness import published_smoothness

LOCAL = [("a", [0]), ("b", [0]), ("b", [1]), ("c", [0, 7, 14])]


def in_cone(cone, rng, k, length):
    """k points of the given length in the cone of the plane, up to its edge."""
    turn = cone.half_angle * rng.uniform(-1, 1, k)
    axis = np.arctan2(*cone.p[::-1])
    return length * np.stack([np.cos(axis + turn), np.sin(axis + turn)], axis=1)


def exact_ratio(problem, selection, p, q):
    """-grad L(p).q / m(p) from the definition, with as many digits as e^{-|p|} needs; by a difference quotient in q."""
    with mpmath.workdps(60 + int(2 * np.linalg.norm(p) * np.linalg.norm(problem.keys, axis=1).max())):

        def attention(point):
            z = [mpmath.fdot(row, point) for row in problem.keys.tolist()]
            for i, c in enumerate(problem.counts.toarray()):
                e = [x * mpmath.exp(s) for x, s in zip(c, z)]
                yield i, [x / sum(e) for x in e]

        def loss(h):
            point = [mpmath.mpf(a) + h * b for a, b in zip(p, q)]
            fs = [mpmath.fdot(A, problem.values.tolist()) for _, A in attention(point)]
            return sum(mpmath.log(1 + mpmath.exp(-y * f)) for y, f in zip(problem.labels, fs)) / len(fs)

        h = mpmath.mpf(10) ** -20
        slope = -(loss(h) - loss(-h)) / (2 * h)
        lost = sum(sum(A) - A[selection[i]] for i, A in attention([mpmath.mpf(a) for a in p])) / len(selection)
        return float(slope / lost)


@pytest.mark.parametrize("panel, selection", LOCAL)
def test_the_ratio_against_many_digits(panel, selection):
    problem = figure1(panel)
    cone, rng = cone_constants(problem, selection), np.random.default_rng(0)
    p, q = in_cone(cone, rng, 1, 40.0)[0], in_cone(cone, rng, 1, 1 / cone.Theta)[0]
    assert cone_ratio(problem, selection, p, q) == pytest.approx(exact_ratio(problem, selection, p, q), rel=1e-9)


@pytest.mark.parametrize("factor", [1.0, 3.0])
@pytest.mark.parametrize("panel, selection", LOCAL)
def test_the_bounds_hold_in_the_cone(panel, selection, factor):
    problem, rng = figure1(panel), np.random.default_rng(1)
    cone = cone_constants(problem, selection)
    points, q = in_cone(cone, rng, 300, factor * cone.R), in_cone(cone, rng, 1, 1 / cone.Theta)[0]
    assert cone.contains(1.0000001 * points * (1 - 1e-9)).all()
    ratio = cone_ratio(problem, selection, points, q)
    assert (cone.c <= ratio).all() and (ratio <= cone.C).all()


def test_random_bags_with_repeated_tokens():
    seen = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        C = rng.poisson(0.7, (3, 6)) + np.eye(3, 6)
        problem = SelectionProblem(rng.standard_normal((6, 2)), rng.standard_normal(6), C, rng.choice([-1.0, 1.0], 3))
        selection = problem.best_token(problem.keys @ rng.standard_normal(2))
        if not is_locally_optimal(problem, selection):
            continue
        cone = cone_constants(problem, selection)
        ratio = cone_ratio(problem, selection, in_cone(cone, rng, 50, cone.R), in_cone(cone, rng, 1, 1 / cone.Theta)[0])
        assert (cone.c <= ratio).all() and (ratio <= cone.C).all()
        seen += 1
    assert seen > 10


def test_published_numbers_of_figure_1b():
    cone = published_constants(figure1("b"), [1])
    assert cone.Theta == pytest.approx(1) and cone.delta == pytest.approx(0.05)
    assert cone.mu == pytest.approx(3.1e-4, rel=0.01) and cone.R == pytest.approx(107, rel=0.01)


def test_the_constants_of_the_integer_example_by_hand():
    cone = cone_constants(two_limits(), [0, 3])
    size, slope = np.sqrt(5), 1 / (1 + np.e)  # the longest difference, and the least |l'| on [0, 1]
    assert (cone.Theta, cone.delta, cone.size, cone.gap) == pytest.approx((1, 0.5, size, 1))
    assert cone.mu == pytest.approx((0.5 / size) ** 2 / 8) and cone.c == pytest.approx(slope / 8)
    assert cone.R == pytest.approx(2 * np.log(16 * 2 * 0.5 * size / slope)) and cone.C == pytest.approx(1)
    global_cone = cone_constants(two_limits(), [0, 2])  # no slack pair: only the first part of R is left
    assert global_cone.R == pytest.approx(np.sqrt(10) * 4 / 3 * np.log(4)) and np.isinf(global_cone.delta)


def test_a_document_without_neighbours_needs_its_slack_counted():
    problem = two_limits((-1.1, 1.0))
    published, ours = published_constants(problem, [0, 3]), cone_constants(problem, [0, 3])
    assert np.isinf(published.delta) and ours.delta == pytest.approx(0.05)
    edge = published.R * np.array([np.cos(published.half_angle), np.sin(published.half_angle)])
    assert published.contains(1.000001 * edge * (1 - 1e-9)) and problem.direction(edge) @ published.p < 0
    assert not ours.contains(edge)


def test_no_cone_without_local_optimality():
    with pytest.raises(ValueError, match="not locally optimal: in document 0 a neighbour"):
        cone_constants(figure1("a"), [1])
    lone = SelectionProblem([[1.0]], [1.0], [[1]], [1])
    with pytest.raises(ValueError, match="single token"):
        cone_constants(lone, [0], max_margin(lone, [0]))
    with pytest.raises(ValueError, match="one row a document"):
        cone_constants(figure1("c"), [[0], [7], [14]])
    with pytest.raises(ValueError, match="does not score best"):
        cone_ratio(figure1("b"), [1], [-1.0, 0.0], [1.0, 0.0])


def hessian_norm(problem, p):
    K, gamma, y = (torch.tensor(x) for x in (problem.keys, problem.values, problem.labels))
    log_C = torch.log(torch.tensor(problem.counts.toarray()))

    def loss(p):
        return torch.nn.functional.softplus(-y * (torch.softmax(log_C + K @ p, dim=1) @ gamma)).mean()

    return torch.linalg.matrix_norm(torch.autograd.functional.hessian(loss, torch.tensor(p)), 2).item()


def test_smoothness_bounds_the_hessian_and_is_not_idle():
    largest = 0.0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, T, d = 2, 2 + seed % 3, 1 + seed % 3
        X, v = rng.standard_normal((n, T, d)), rng.standard_normal(d)
        problem = SelectionProblem.from_sequences(X, rng.choice([-1, 1], n), v)
        norms = [hessian_norm(problem, scale * rng.standard_normal(d)) for scale in (0, 0.3, 1, 3)]
        assert max(norms) <= smoothness(problem) <= published_smoothness(X, v)
        largest = max(largest, max(norms) / smoothness(problem))
    assert largest > 0.1


def test_published_smoothness_of_figure_1():
    X = np.array([[[-0.1, 1, 1], [1, 0, 0.9], [0, 0, 0.9]]])
    assert published_smoothness(X, [0, 0, 1], np.diag([1.0, 1.0, 0.0])) == pytest.approx(20.75, abs=0.01)


def test_examples():
    assert figure1("c").counts.shape == (3, 21)
    np.testing.assert_allclose(figure1("c").keys[0], [0.77483203, -0.23047204], rtol=1e-6)
    np.testing.assert_allclose(two_limits().values, [1, 0, 1, 0])
    with pytest.raises(ValueError, match="panel is 'd'"):
        figure1("d")
    with pytest.raises(ValueError, match="second lies on"):
        two_limits((1.0, 0.0))
