"""Tokens in the plane, the numbers: gradients, margins, orbits and examples are the library's."""

import warnings
from itertools import product

import mpmath
import numpy as np
import pytest
from explorables import FOLLOW, HALF, first_rows, problem, random_documents, token

from attnlib import (
    CORRELATION,
    EXPONENTIAL,
    LOGISTIC,
    Infeasible,
    gradient_flow,
    is_locally_optimal,
    max_margin,
    optimal_tokens,
    selected,
)
from attnlib.examples import figure1, two_limits
from attnlib.flow import turning

LOOK = """(cases) => cases.map(({ documents, p, loss }) => { const P = Explore.field.compile(documents, loss);
    return Explore.field.look(P, ...p) ? { g: [P.gx, P.gy], logNorm: P.logNorm, J: Explore.field.turning(P), rounding: P.rounding } : null; })"""


@pytest.mark.parametrize("label, ell", [(1, LOGISTIC), (-1, LOGISTIC), (1, EXPONENTIAL), (1, CORRELATION)], ids=str)
def test_direction_norm_and_turning_are_the_library_s(visit, label, ell):
    rng = np.random.default_rng(0)
    cases, expected = [], []
    while len(cases) < 300:
        documents, p = random_documents(rng), rng.normal(size=2) * 10.0 ** rng.integers(-1, 7)
        try:
            P = problem(documents, label, ell)
            expected.append((*P.log_gradient(p), turning(P, p)))
            cases.append({"documents": documents, "p": p.tolist(), "loss": ell.name})
        except ValueError:  # no direction to rounding
            continue
    compared = 0
    for case, found, (g, log_norm, J) in zip(cases, visit("plane").evaluate(LOOK, cases), expected):
        assert found is not None
        # scores are sums of two products, rounded in another order than numpy's: an error of eps |z| in each logarithm
        error = 1e-12 + 1e-15 * np.linalg.norm(case["p"])
        if found["rounding"] > 1e-15:  # documents that cancel each other cost digits in both
            error *= found["rounding"] / 1e-16
        if error > 1e-6:
            continue
        compared += 1
        np.testing.assert_allclose(found["g"], g, atol=error)
        assert found["logNorm"] == pytest.approx(log_norm, rel=1e-12, abs=error)
        np.testing.assert_allclose(np.reshape(found["J"], (2, 2)), J, atol=100 * error * max(1, np.abs(J).max()))
    assert compared > 250


SLOPES = {
    "logistic": lambda f: 1 / (1 + mpmath.exp(f)),
    "exponential": lambda f: mpmath.exp(-f),
    "correlation": lambda f: 1,
}


@pytest.mark.parametrize("loss", SLOPES)
def test_gradient_far_out_is_that_of_many_digits(visit, loss):
    documents = [[token(-0.1, 1, 1), token(1, 0, 0.9), token(0, 0, 0)], [token(2, 1, 0.5), token(0, 2, -1)]]
    tab = visit("plane")
    for p in ([300.0, -200.0], [-400.0, 900.0], [700.0, 20.0]):
        (found,) = tab.evaluate(LOOK, [{"documents": documents, "p": p, "loss": loss}])
        with mpmath.workprec(10_000):
            G = [mpmath.mpf(0), mpmath.mpf(0)]
            for tokens in documents:
                e = [mpmath.exp(t["x"] * p[0] + t["y"] * p[1]) for t in tokens]
                A = [x / sum(e) for x in e]
                f = sum(a * mpmath.mpf(t["score"]) for a, t in zip(A, tokens))
                g = SLOPES[loss](f) / len(documents)
                for k, name in enumerate("xy"):
                    G[k] += g * sum(a * (mpmath.mpf(t["score"]) - f) * mpmath.mpf(t[name]) for a, t in zip(A, tokens))
            norm = mpmath.sqrt(G[0] ** 2 + G[1] ** 2)
            expected, log_norm = [float(x / norm) for x in G], float(mpmath.log(norm))
        np.testing.assert_allclose(found["g"], expected, atol=1e-9)
        assert found["logNorm"] == pytest.approx(log_norm, rel=1e-12)


def test_margins_and_local_optimality_are_the_library_s(visit, presets):
    tab, rng = visit("plane"), np.random.default_rng(1)
    problems = [documents for documents in presets(tab).values() if len(sum(documents, [])) < 20]  # the library is slow
    problems += [random_documents(rng) for _ in range(40)]
    kinds = set()
    judged = tab.evaluate("(all) => all.map(Explore.margin.selections)", problems)
    for documents, verdicts in zip(problems, judged):
        P, first = problem(documents), first_rows(documents)
        assert [v["selection"] for v in verdicts] == [list(s) for s in product(*(range(len(d)) for d in documents))]
        for verdict in verdicts:
            rows = first + verdict["selection"]
            try:
                solution = max_margin(P, rows, solver="NNLS")
            except Infeasible:
                assert not verdict["feasible"] and not verdict["optimal"]
                kinds.add("infeasible")
                continue
            assert verdict["feasible"]
            np.testing.assert_allclose(verdict["p"], solution.p, rtol=1e-9, atol=1e-9)
            assert verdict["margin"] == pytest.approx(solution.margin, rel=1e-9)
            assert verdict["optimal"] == is_locally_optimal(P, rows, solution)
            kinds.add(verdict["optimal"])
    assert kinds == {"infeasible", True, False}


def test_orbits_settle_where_the_library_s_do(visit, presets):
    """Which selection a start ends in, and at equal arc length where it is, to the tolerance the page states."""
    tab, rng = visit("plane"), np.random.default_rng(2)
    problems = list(presets(tab).values()) + [random_documents(rng) for _ in range(9)]
    settled = compared = rested = 0
    for documents in problems:
        starts, P = rng.uniform(-HALF, HALF, size=(3, 2)).round(2), problem(documents)
        rough, fine = (
            tab.evaluate(FOLLOW, [documents, starts.tolist(), {"tolerance": tolerance}]) for tolerance in (1e-3, 1e-6)
        )
        for start, *ends in zip(starts, rough, fine):
            if ends[0]["ended"] == "settled" or ends[1]["ended"] == "settled":
                orbit = gradient_flow(P, start, length=500.0, settled=1e-3)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # scores that tie: the first is taken in both
                    rows = selected(P, orbit.points[-1])
                for end in ends:
                    assert (rows == first_rows(documents) + end["selection"]).all()
                    settled += 1
            orbit = gradient_flow(P, start, length=max(ends[1]["tau"], 1e-3))
            if orbit.ended in ("length", "stationary"):
                assert np.hypot(*(orbit.points[-1] - [ends[1]["x"], ends[1]["y"]])) < 1e-2
                compared += 1
                rested += ends[1]["ended"] == "stationary"
    assert settled > 60 and compared > 30 and rested


def test_a_flow_that_lingers_is_followed_until_it_leaves(visit):
    """A2 is locally optimal and holds the flow for a while; a rule that looks at the selection alone would stop there."""
    documents = [[token(-0.1, 1, 1), token(1, 0, 0.9), token(0, 0, 0.85)]]
    P, lingered = problem(documents), 0
    for start in ([2.4, -1.0], [2.4, -1.6], [2.4, -2.4]):
        end = visit("plane").evaluate(FOLLOW, [documents, [start], {"tolerance": 1e-3}])[0]
        orbit = gradient_flow(P, start, length=500.0, settled=1e-3)
        assert end["ended"] == "settled"
        assert end["selection"] == selected(P, orbit.points[-1]).tolist()
        z = np.sort(orbit.points @ P.keys.T, axis=1)
        held = (np.argmax(orbit.points @ P.keys.T, axis=1) == 1) & (z[:, 2] - z[:, 1] > 4)
        lingered += bool(end["selection"] == [0] and np.ptp(orbit.arclength[held], axis=0) > 4) if held.any() else 0
    assert lingered


def test_a_glance_along_an_arrow_is_not_an_arrival(visit):
    """For a moment the tangent is within a hundredth of a locally optimal direction, and the flow goes elsewhere."""
    passing = [token(-0.4, -2.45, 0.3), token(-1.45, 1.9, 0.825), token(-2.5, -0.9, 0.45), token(0.4, -2, 0.875)]
    resting = [token(-1.1, 0.7, -1.5), token(-2, -1.2, 0), token(2, -0.2, -1.5), token(0.7, -0.1, 0.5)]
    tab = visit("plane")
    for tokens, start, ended in ((passing, [0.47, 0.07], "settled"), (resting, [-0.29, 0.2], "stationary")):
        P = problem([tokens])
        assert is_locally_optimal(P, [1])  # what it passes
        (end,) = tab.evaluate(FOLLOW, [[tokens], [start], {"tolerance": 1e-3}])
        orbit = gradient_flow(P, start, length=500.0)
        assert end["ended"] == ended
        if ended == "settled":
            assert end["selection"] == selected(P, orbit.points[-1]).tolist() == [3]
        else:
            assert orbit.ended == ended
            np.testing.assert_allclose([end["x"], end["y"]], orbit.points[-1], atol=1e-2)


def test_the_method_has_order_two(visit):
    """A local error of the third order: a tolerance a thousand times smaller costs ten times the steps."""
    count = """([documents, tolerance]) => { let steps = 0; Explore.flow.follow(Explore.field.compile(documents), new Map(), 0.3, -0.6,
        { tolerance, length: 20, visit: () => void steps++ }); return steps; }"""
    tab, documents = visit("plane"), [[token(-0.1, 1, 1), token(1, 0, 0.9), token(0, 0, 0)]]
    few, many = (tab.evaluate(count, [documents, tolerance]) for tolerance in (1e-4, 1e-7))
    assert 7 < many / few < 13


def test_the_figures_of_the_paper(visit, presets):
    """Each preset that names a figure has its data, and does what its note says."""
    shown = presets(visit("plane"))

    def same(name, P):
        rows = np.array([[t["x"], t["y"], t["score"]] for tokens in shown[name] for t in tokens])
        np.testing.assert_allclose(rows, np.c_[P.keys[:, :2].round(2), P.labels[0] * P.values], atol=1e-12)
        assert [len(tokens) for tokens in shown[name]] == P.widths.tolist()

    same("one document, one limit", figure1("a"))
    same("one document, two limits", figure1("b"))
    same("three documents of seven tokens", figure1("c"))
    same("two documents, two limits", two_limits())
    for name, third, p in (("two tight, one slack", 1, (4 / 3, 1 / 3)), ("a longer third key", 1.5, (1.25, 0.25))):
        heads = [tokens[0] for tokens in shown[name]]
        assert heads == [token(1, 1, 1), token(1, -1, 1), token(0.5, third, third)]
        assert all(tokens[1:] == [token(0, 0, 0)] for tokens in shown[name])
        np.testing.assert_allclose(max_margin(problem(shown[name]), [0, 2, 4]).p, p, atol=1e-9)
    circle = shown["four documents on a circle"]
    assert [len(tokens) for tokens in circle] == [6] * 4
    keys = np.array([[t["x"], t["y"]] for tokens in circle for t in tokens])
    assert np.abs(np.linalg.norm(keys, axis=1) - 1).max() < 0.01
    scores = np.array([t["score"] for tokens in circle for t in tokens])
    v = np.linalg.lstsq(keys[:18], scores[:18])[0]  # three labels are +1
    assert np.abs(keys[:18] @ v - scores[:18]).max() < 0.01 and np.abs(keys[18:] @ v + scores[18:]).max() < 0.01
    with pytest.raises(Infeasible):
        max_margin(problem(circle), optimal_tokens(problem(circle)))


def test_an_integer_example_of_two_limits(visit, presets):
    """n = T = d = 2: both limits are locally optimal, and B has no neighbour in the second."""
    documents = presets(visit("plane"))["two documents, two limits"]
    P = problem(documents)
    assert all(float(t[name]).is_integer() for tokens in documents for t in tokens for name in ("x", "y", "score"))
    for start, rows in (([0.0, 0.0], [0, 2]), ([2.0, -1.0], [0, 3])):
        assert selected(P, gradient_flow(P, start, length=200.0).points[-1]).tolist() == rows
        assert is_locally_optimal(P, rows)


def test_dragging_feels_instant(visit, presets):
    """A frame with a token on the move, on the largest preset: the work itself, not the time between frames."""
    tab = visit("plane")
    seconds = tab.evaluate(
        """(documents) => { const times = []; for (let k = 0; k < 8; k++) { documents[0][0].x += 0.01; const t = performance.now();
             const P = Explore.field.compile(documents), table = Explore.flow.limits(P, Explore.margin.selections(documents));
             Explore.basins.glance(P, table, 2.5); times.push((performance.now() - t) / 1000); } return times.sort()[4]; }""",
        presets(tab)["three documents of seven tokens"],
    )
    assert seconds < 0.25
