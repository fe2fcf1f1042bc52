"""Chapter "Scores, optimal tokens, local optimality"."""

from fractions import Fraction

import numpy as np

from ..examples import figure1
from ..flow import gradient_flow
from ..margin import max_margin
from ..optimality import is_locally_optimal, neighbours, optimal_tokens
from ..problem import SelectionProblem
from . import claim
from .residuals import worst as largest


def witness_violation(rng, n=6, labels=None, rank=4, seen=True) -> float:
    """By how much the witness misses a constraint, or the margin its bound; 0 if neither."""
    T, d = 5, 4
    X, W, y = rng.normal(size=(n, T, d)), rng.normal(size=(rank, d)), np.ones(n) if labels is None else labels
    v = W.T @ rng.normal(size=rank) if seen else rng.normal(size=d)
    problem = SelectionProblem.from_sequences(X, y, v, W=W)
    scores = np.sort(y[:, None] * problem.values.reshape(n, T), axis=1)
    p = np.linalg.pinv(W.T) @ v / (scores[:, -1] - scores[:, -2]).min()
    best = optimal_tokens(problem)
    a = problem.keys[np.repeat(best, T)] - problem.keys
    asked = np.delete(a @ p, best)
    missed = largest(0.0, 1 - asked.min())
    if missed > 1e-9:
        return missed
    return largest(missed, 1 - max_margin(problem, best).margin * np.linalg.norm(p))


@claim(
    "lem-witness",
    "With labels +1 and v = W'q the optimal tokens are feasible, by q over the least gap; margin at least gap/|q|.",
    source="paper B Lemmas 2 and 11; the bound on the margin is ours",
    rests=("thm-nearest",),
    assumes=("positive-labels", "seen-head"),
    kind="numeric",
    tolerance=1e-9,
    seeds=10,
)
def witness(rng):
    return witness_violation(rng, rank=int(rng.integers(2, 5)))


@witness.control("half of the labels are negative", drops="positive-labels")
def _(rng):
    return witness_violation(rng, n=30, labels=np.tile([1.0, -1.0], 15))


@witness.control("a key map of rank two that does not see v", drops="seen-head")
def _(rng):
    return witness_violation(rng, n=30, rank=2, seen=False)


def figure_one_failures(first) -> int:
    """Failed optimality conditions of the three solutions in rational arithmetic, and wrong verdicts of the library."""
    F = Fraction
    keys = [(F(first), F(1)), (F(1), F(0)), (F(0), F(0))]
    solutions = [(F(-10, 101), F(100, 101)), (F(1), F(0)), (F(-1), F(-11, 10))]
    multipliers = [{2: F(100, 101)}, {2: F(1)}, {0: F(11, 10), 1: F(111, 100)}]
    failures = 0
    for s, (p, lam) in enumerate(zip(solutions, multipliers)):
        a = {u: [x - y for x, y in zip(keys[s], keys[u])] for u in range(3) if u != s}
        score = {u: sum(x * y for x, y in zip(a[u], p)) for u in a}
        failures += sum(value < 1 for value in score.values())
        failures += any(value < 0 for value in lam.values())
        failures += [sum(lam[u] * a[u][k] for u in lam) for k in range(2)] != list(p)
        failures += {u for u in a if score[u] == 1} != set(lam)
        for panel, local in (("a", (True, False, False)), ("b", (True, True, False))):
            problem = figure1(panel)
            failures += is_locally_optimal(problem, [s]) != local[s]
            failures += set(neighbours(problem, [s])[0].tolist()) != set(lam)
    return failures


@claim(
    "prop-figure-one",
    "The max-margin solutions of Figure 1(a), (b) are (100/101)(-1/10, 1), (1, 0), (-1, -11/10); local optima.",
    source="data of paper B, solutions ours",
    rests=("prop-certificate", "def-local"),
    kind="exact",
    tolerance=0,
    seeds=1,
)
def figure_one(rng):
    return figure_one_failures(Fraction(-1, 10))


@figure_one.control("the first key is (-1/5, 1)")
def _(rng):
    return figure_one_failures(Fraction(-1, 5))


def saddle_coefficients(rng):
    """The tangent at the unstable limit (1, 0), by its coefficients on the tight differences, and those expected."""
    low, high = np.sort(rng.uniform(0.6, 2.5, 2)) + [0, 0.4]
    a = np.array([[1.0, low], [1.0, high]])
    keys = np.vstack([[0, 0], -a[0], [0, 0], -a[1]])
    problem = SelectionProblem(keys, [1.0, 0.0, -1.0, 0.0], np.kron(np.eye(2), np.ones(2)), [1, 1])
    down, up = -6.0, 6.0
    for _ in range(14):
        h = (down + up) / 2
        orbit = gradient_flow(problem, [6.0, h], length=20.0)
        down, up = (down, h) if orbit.points[-1, 1] > h else (h, up)
    tangent = orbit.tangents[np.abs(orbit.tangents[:, 1]).argmin()]
    return np.linalg.solve(a.T, tangent), np.array([high, -low]) / (high - low)


@claim(
    "thm-signed-limit",
    "A limit of the flow is a combination of tight differences, negative where the neighbour scores higher.",
    source="proved here, a converse to paper B Theorem 3",
    rests=("prop-pairwise", "prop-certificate", "def-local"),
    kind="numeric",
    tolerance=1e-2,
    seeds=3,
)
def signed_limit(rng):
    found, expected = saddle_coefficients(rng)
    return float(np.abs(found - expected).max() / np.abs(expected).max())


@signed_limit.control("all coefficients are claimed to be non-negative, as at a max-margin direction")
def _(rng):
    found, expected = saddle_coefficients(rng)
    return float(np.abs(np.maximum(found, 0) - found).max() / np.abs(expected).max())
