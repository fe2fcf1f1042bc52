"""The predicates let through what satisfies them and name the document where something does not."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit

from attnlib import SelectionProblem, Violated
from attnlib.assumptions import (
    assumption_a,
    assumption_b,
    assumption_c,
    common_token,
    distinct_scores,
    feasible,
    general_position,
    strict_optimum,
)
from attnlib.examples import figure1
from attnlib.joint import Joint
from attnlib.margin import label_margin

LOGISTIC = SimpleNamespace(value=lambda u: np.logaddexp(0, -u), derivative=lambda u: -expit(-u))
CORRELATION = SimpleNamespace(value=lambda u: -u, derivative=lambda u: -1.0)


def test_a():
    M0, M1 = assumption_a(LOGISTIC)
    assert M0 == pytest.approx(0.25, abs=1e-4) and M1 == pytest.approx(1, abs=1e-4)
    assert assumption_a(CORRELATION) == pytest.approx((0, 1))
    assert (
        assumption_a(SimpleNamespace(value=lambda u: np.exp(-u), derivative=lambda u: -np.exp(-u)), (-1, 1)).M1 < 2.72
    )
    for loss, message in [
        (SimpleNamespace(value=lambda u: u**2, derivative=lambda u: 2 * u), "does not fall"),
        (SimpleNamespace(value=lambda u: np.maximum(0, 1 - u), derivative=lambda u: -1.0 * (u < 1)), "does not fall"),
        (SimpleNamespace(value=lambda u: -u, derivative=lambda u: 1.0), "not negative at u = -10"),
        (SimpleNamespace(value=lambda u: -u, derivative=lambda u: -2.0), "not the slope"),
        (SimpleNamespace(value=lambda u: -np.log(u), derivative=lambda u: -1 / u), "not finite"),
    ]:
        with np.errstate(all="ignore"), pytest.raises(Violated, match=message):
            assumption_a(loss)


def two_documents(values, labels=(1, -1)):
    return SelectionProblem(np.eye(6)[:, :2], values, np.kron(np.eye(2), np.ones(3)), labels)


def test_b():
    assert assumption_b(two_documents([3, 1, 1, 2, 2, -1])).tolist() == [0, 5]
    assert assumption_b(two_documents([3, 1, 1, 2, 2 + 1e-15, -1])).tolist() == [0, 5]
    with pytest.raises(Violated, match="in document 1 .* from -2 to -1") as found:
        assumption_b(two_documents([3, 1, 1, 2, 1, -1]))
    assert found.value.document == 1
    with pytest.raises(Violated, match=r"document 1: tokens \[3, 4\] share") as found:
        strict_optimum(two_documents([3, 1, 1, 2, 2, 3]))
    assert found.value.document == 1
    assert assumption_b(figure1("a")).tolist() == [0] and assumption_b(figure1("c")).tolist() == [0, 7, 14]
    with pytest.raises(Violated):
        assumption_b(figure1("b"))


def test_general_position():
    general_position(figure1("b"), [1])
    general_position(figure1("c"), [0, 7, 14])
    with pytest.raises(Violated, match="0 over . in document 0, .* are dependent"):
        general_position(SelectionProblem([[0.0, 0], [1, 0], [2, 0], [0, 1]], np.arange(4), np.ones((1, 4)), [1]), [0])
    three = SelectionProblem([[0.0, 0], [-1, 0], [-1, 1], [-1, 2]], np.arange(4), np.ones((1, 4)), [1])
    with pytest.raises(Violated, match="can all score exactly 1"):
        general_position(three, [0])
    # the same difference from two documents is one difference
    twice = SelectionProblem([[0.0, 0], [-1, 0], [0, -1]], [2, 1, 0], [[1, 1, 1], [1, 1, 0]], [1, 1])
    general_position(twice, [0, 0])
    with pytest.raises(ValueError, match="more than most=2"):
        general_position(figure1("c"), [0, 7, 14], most=2)
    distinct_scores(figure1("b"))
    with pytest.raises(Violated, match="document 0: tokens 1 and 2 have the same score"):
        distinct_scores(figure1("a"))


def test_feasible():
    feasible(figure1("c"), [0, 7, 14])
    contrary = SelectionProblem(np.eye(2), [1.0, 0.0], [[1, 1], [1, 1]], [1, -1])
    with pytest.raises(Violated, match=r"documents \[0, 1\] contradict"):
        feasible(contrary, [0, 1])


def test_c():
    rng = np.random.default_rng(0)
    y, a = np.array([1, -1, 1]), np.array([2.0, 1.0])
    X = rng.uniform(-0.8, 0.8, (3, 4, 2))
    X[:, 0] = y[:, None] * a
    points = 3 * rng.standard_normal((200, 2))
    length, sure = common_token(X, y, [0, 0, 0])
    joint, chosen = Joint(X, y), [0, 4, 8]
    assert label_margin(X[:, 0], y).margin == pytest.approx(length)
    assert assumption_c(joint, chosen, points) >= sure > 0
    assert assumption_c(joint, chosen, np.zeros((0, 2))) == np.inf
    assert assumption_c(joint, chosen, 1e4 * label_margin(X[:, 0], y).p[None]) > 0
    longer = X.copy()
    longer[:, 1] = 2 * y[:, None] * a
    with pytest.raises(Violated, match="the margin is that of the selected tokens, 2.23607, or more; document"):
        assumption_c(Joint(longer, y), chosen, points)
    with pytest.raises(Violated, match="document 0 has a token as long"):
        common_token(longer, y, [0, 0, 0])
    with pytest.raises(Violated, match="document 1 is not y a"):
        common_token(X, [1, 1, 1], [0, 0, 0])
    with pytest.raises(Violated, match="no v separates"):
        assumption_c(Joint(X, [1, 1, -1]), chosen, points)
