"""The usual loop where floats suffice, where they do not, and the rule that tells."""

import numpy as np
import pytest
from mpmath import mp, mpf, workdps

from attnlib import SelectionProblem, descend
from attnlib.arithmetic import last_trusted, usual_loop
from attnlib.joint import Joint

X = np.array([[[-0.1, 1, 1], [1, 0, 0.9], [0, 0, 0]]])
W = np.diag([1.0, 1.0, 0.0])
PROBLEM = SelectionProblem.from_sequences(X, [1], [0, 0, 1], W)


def test_the_loop_is_normalised_descent_while_floats_suffice():
    found = usual_loop(X, [1], [0.0, 1.0, 0.0], [0.0, 0, 1], W, steps=60, eps=(0.0, 0.0), dtype="float64")
    np.testing.assert_allclose(found.p, descend(PROBLEM, [0.0, 1.0, 0.0], 60, 0.1), atol=1e-10)
    assert (found.v == [0, 0, 1]).all() and found.v.shape == (61, 3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_trust_ends_where_the_loop_leaves_the_rule(dtype):
    points = usual_loop(X, [1], [0.0, -1.0, 0.0], [0.0, 0, 1], W, dtype=dtype).p
    k = last_trusted(points, PROBLEM.direction(points), 0.1)
    exact = descend(PROBLEM, points[0], 1000, 0.1)
    assert 100 < k < 200
    assert np.linalg.norm(points[k] - exact[k]) < 0.1 * 0.01 * k  # each step is wrong by at most rate x tolerance
    assert np.linalg.norm(points[k + 150] - exact[k + 150]) > 1


def test_exact_points_are_trusted_to_the_end_and_changed_ones_to_the_change():
    points = descend(PROBLEM, [0.0, 1.0, 0.0], 300, 0.1)
    directions = PROBLEM.direction(points)
    assert last_trusted(points, directions, 0.1) == last_trusted(points, directions[:-1], 0.1) == 300
    moved = points.copy()
    moved[101:] += [0.002, 0, 0]
    assert last_trusted(moved, directions, 0.1) == 100
    moved[50] = np.nan
    assert last_trusted(moved, directions, 0.1) == 49
    with pytest.raises(ValueError, match="one direction a step"):
        last_trusted(points, directions[:100], 0.1)


def test_joint_loop_and_directions_equal_autograd_and_mpmath():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((3, 4, 2)), np.array([1.0, -1.0, 1.0])
    p, v = (rng.standard_normal(2) for _ in range(2))
    found = usual_loop(X, y, p, v, joint=True, steps=1, rate=1.0, eps=(0.0, 0.0), dtype="float64")
    g_v, g_p = Joint(X, y).directions(v, p)
    np.testing.assert_allclose(found.p[1] - p, g_p, atol=1e-12)
    np.testing.assert_allclose(found.v[1] - v, g_v, atol=1e-12)
    far = 2000 * v  # the weights g_i are far below the smallest float
    with workdps(50):
        G = [mpf(0), mpf(0)]
        for x, label in zip(X, y):
            z = [mp.fdot(map(mpf, row), map(mpf, p)) for row in x.tolist()]
            s = [mp.exp(a) / mp.fsum(mp.exp(b) for b in z) for a in z]
            feature = [mp.fdot(s, map(mpf, x[:, j].tolist())) for j in range(2)]
            g = mpf(label) / (1 + mp.exp(mpf(label) * mp.fdot(feature, map(mpf, far.tolist()))))
            G = [total + g * part for total, part in zip(G, feature)]
        wanted = [float(part / mp.norm(G)) for part in G]
    np.testing.assert_allclose(Joint(X, y).directions(far, p)[0], wanted, atol=1e-9)


def test_bad_dtype_is_refused():
    with pytest.raises(ValueError, match="dtype is 'float16'"):
        usual_loop(X, [1], [0.0] * 3, [0.0] * 3, dtype="float16")
