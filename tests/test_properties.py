"""Properties of the rooms behind the max-margin chapters, on random problems, each by a route of its own."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import arrays, dense_gradient, dense_loss, problems
from torch.nn.functional import softplus

from attnlib import (
    CORRELATION,
    EXPONENTIAL,
    LOGISTIC,
    Infeasible,
    Joint,
    SelectionProblem,
    Violated,
    cone_constants,
    is_locally_optimal,
    max_margin,
    max_margin_any,
    plane_path,
    published_constants,
    smoothness,
)
from attnlib.assumptions import strict_optimum
from attnlib.optimality import optimal_sets

moderate = st.floats(-3, 3, width=32)


@given(st.sampled_from([LOGISTIC, EXPONENTIAL, CORRELATION]), st.floats(-20, 20))
def test_the_slope_is_that_of_the_value(ell, u):
    h = 1e-6
    numeric = (ell.value(u - h) - ell.value(u + h)) / (2 * h)
    assert ell.slope(u) == pytest.approx(numeric, rel=1e-7, abs=1e-8)
    assert np.exp(ell.log_slope(u)) == pytest.approx(ell.slope(u), rel=1e-12)


@given(problems(), st.data())
def test_the_gradient_changes_no_faster_than_the_bound(case, data):
    problem, _ = case
    d = problem.keys.shape[1]
    p, q = (data.draw(arrays(d, moderate)) for _ in "pq")
    change = np.linalg.norm(dense_gradient(problem, p)[0] - dense_gradient(problem, q)[0])
    assert change <= smoothness(problem) * np.linalg.norm(p - q) * (1 + 1e-9) + 1e-12


@given(problems(), st.data())
def test_any_choice_of_the_sets_is_at_best_as_short(case, data):
    problem, _ = case
    C = problem.counts
    documents = [C.indices[a:b] for a, b in zip(C.indptr[:-1], C.indptr[1:])]
    sets = [data.draw(st.lists(st.sampled_from(rows.tolist()), min_size=1, unique=True)) for rows in documents]
    try:
        longest = np.linalg.norm(max_margin(problem, sets, solver="NNLS").p)  # all of each set ahead: more is asked
    except Infeasible:
        assume(False)
    for solution in max_margin_any(problem, sets):
        z = problem.keys @ solution.p
        assert np.linalg.norm(solution.p) <= longest * (1 + 1e-7) + 1e-12
        for rows, chosen in zip(documents, sets):
            others = np.setdiff1d(rows, chosen)
            assert not others.size or z[chosen].max() - z[others].max() >= 1 - 1e-7


@given(st.data())
def test_no_point_of_the_disc_beats_the_plane_path(data):
    keys, values = data.draw(arrays((4, 2), moderate)), data.draw(arrays(4, moderate))
    assume(np.ptp(values) > 0.1 and np.abs(keys[:, None] - keys).sum(axis=2)[~np.eye(4, dtype=bool)].min() > 0.1)
    problem = SelectionProblem(keys, values, np.ones((1, 4)), [1])
    R = data.draw(st.sampled_from([0.5, 3.0, 10.0]))
    (p,) = plane_path(problem, [R])
    assert np.linalg.norm(p) <= R * (1 + 1e-9)
    turn, length = data.draw(st.floats(0, 6.3)), data.draw(st.floats(0, R))
    other = length * np.array([np.cos(turn), np.sin(turn)])
    assert dense_loss(problem, p) <= dense_loss(problem, other) + 1e-7


@given(st.data())
def test_the_joint_directions_are_those_of_autograd(data):
    X = data.draw(arrays((3, 2, 2), moderate))
    y = np.array(data.draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=3, max_size=3)))
    v, p = (torch.tensor(data.draw(arrays(2, moderate)), requires_grad=True) for _ in "vp")
    Xt = torch.tensor(X)
    f = (torch.softmax(Xt @ p, dim=1)[..., None] * Xt).sum(dim=1) @ v
    softplus(-torch.tensor(y) * f).mean().backward()
    exact = [-x.grad.numpy() for x in (v, p)]
    assume(min(map(np.linalg.norm, exact)) > 1e-6)
    for ours, theirs in zip(Joint(X, y).directions(v.detach().numpy(), p.detach().numpy()), exact):
        np.testing.assert_allclose(ours, theirs / np.linalg.norm(theirs), atol=1e-7)


@given(problems())
def test_a_tie_of_the_best_is_named(case):
    problem, _ = case
    tied = [i for i, rows in enumerate(optimal_sets(problem)) if len(rows) > 1]
    if tied:
        with pytest.raises(Violated, match=rf"^document {tied[0]}:") as caught:
            strict_optimum(problem)
        assert caught.value.document == tied[0]
    else:
        assert strict_optimum(problem).tolist() == [rows[0] for rows in optimal_sets(problem)]


@given(problems(), st.data())
def test_descent_goes_along_the_axis_inside_the_cone(case, data):
    problem, _ = case
    best = [rows[0] for rows in optimal_sets(problem)]
    assume(all(len(rows) == 1 for rows in optimal_sets(problem)) and problem.widths.max() > 1)
    try:
        solution = max_margin(problem, best)
    except Infeasible:
        assume(False)
    assume(is_locally_optimal(problem, best, solution) and np.linalg.norm(solution.p) < 1e3)
    cone, published = cone_constants(problem, best), published_constants(problem, best)
    assert cone.Theta == published.Theta == pytest.approx(1 / np.linalg.norm(solution.p))
    assert 0 < cone.mu < 1 and cone.R >= 0 and 0 < cone.c < cone.C
    tilt = data.draw(arrays(len(solution.p), moderate))
    p = max(1.01 * cone.R, 1.0) * cone.Theta * solution.p
    p = p + 0.5 * np.sqrt(cone.mu) * np.linalg.norm(p) * tilt / (np.linalg.norm(tilt) or 1.0)
    p *= max(1.0, 1.01 * cone.R / np.linalg.norm(p))
    if cone.contains(p):
        assert problem.direction(p) @ solution.p > 0
