"""Chapter "Regularisation paths"."""

import mpmath
import numpy as np

from ..descent import minimise_in_ball
from ..margin import angle, max_margin
from ..optimality import is_locally_optimal, optimal_tokens, selected
from ..paths import asymptote, plane_path
from ..problem import SelectionProblem
from ..shortest import Infeasible
from . import claim


def gaussian(rng, n, T, d):
    X, v, y = rng.normal(size=(n, T, d)), rng.normal(size=d), rng.choice([-1.0, 1.0], n)
    return SelectionProblem.from_sequences(X, y, v)


def feasible(rng, n, T, d, margin=0.1):
    """A random problem whose best tokens can be ranked first by a margin, and the max-margin solution."""
    while True:
        problem = gaussian(rng, n, T, d)
        try:
            solution = max_margin(problem, optimal_tokens(problem), solver="NNLS")
        except Infeasible:
            continue
        if solution.margin > margin:
            return problem, solution


@claim(
    "thm-path-global",
    "The path of least loss within a ball tends to the max-margin direction of the best tokens, if they are feasible.",
    source="paper B Theorem 1, with a bound here",
    rests=("thm-nearest",),
    assumes=("strict-optimum", "slope"),
    kind="numeric",
    tolerance=0.03,
    seeds=4,
)
def path_global(rng):
    problem, solution = feasible(rng, 2, 3, 2)
    return angle(plane_path(problem, [400 / solution.margin])[0], solution.p)


@path_global.control("the first document has two best tokens", drops="strict-optimum")
def _(rng):
    a, b = rng.uniform(0.5, 0.9), rng.uniform(0.5, 0.9)
    problem = SelectionProblem([[1, a], [1, -b], [0, 0]], [1.0, 1, 0], np.ones((1, 3)), [1])
    solution = max_margin(problem, [0])  # the path may lean on either best token, or on both
    return angle(plane_path(problem, [400.0])[0], solution.p)


@path_global.control("the loss is flat at a best score", drops="slope")
def _(rng):
    return angle([1.0, flattest_ratio(lambda x: -(x**3), R=rng.uniform(100, 150))], [1.0, 1.0])


@claim(
    "prop-flat-loss",
    "With a loss that is flat at a best score, -x^3, the path goes to (1, 3)/sqrt(10), not to the max-margin (1, 1).",
    source="proved here; a counterexample to paper B Theorem 1 as stated",
    kind="numeric",
    tolerance=0.03,
    seeds=1,
)
def flat_loss(rng):
    return abs(flattest_ratio(lambda x: -(x**3)) - 3) / 3


@flat_loss.control("with a slope everywhere, -x, the path is max-margin")
def _(rng):
    return abs(flattest_ratio(lambda x: -x) - 3) / 3


def flattest_ratio(loss, R=400):
    """p_2 / p_1 of the least loss on the circle of radius R, in 700 digits."""
    with mpmath.workdps(700):

        def slope(theta):
            e1, e2 = (1 / (1 + mpmath.exp(R * f(theta))) for f in (mpmath.cos, mpmath.sin))
            return mpmath.log(loss(-e1) + loss(1 - e2) - loss(mpmath.mpf(0)) - loss(mpmath.mpf(1)))

        theta = mpmath.findroot(lambda t: mpmath.diff(slope, t), (0.6, 1.4), solver="illinois", tol=1e-12)
        return float(mpmath.tan(theta))


def published(rng, neighbour):
    """Paper B's Figure 1(b), a little disturbed: token 1 is locally optimal if its neighbour, token 2, scores lower."""
    K = np.array([[-0.1, 1.0], [1.0, 0.0], [0.0, 0.0]]) + 0.01 * rng.normal(size=(3, 2))
    return SelectionProblem(K, [1.0, 0.9, neighbour], np.ones((1, 3)), [1])


def cone_angle(problem, direction, R=2000.0):
    return angle(plane_path(problem, [R], axis=direction, mu=1e-3, inner=60.0)[0], direction)


@claim(
    "thm-path-local",
    "Within a narrow cone around a locally optimal max-margin direction the path tends to it.",
    source="proved here; paper B Theorem 3 is the companion for descent",
    rests=("thm-path-global",),
    assumes=("tight-optimal",),
    kind="numeric",
    tolerance=0.005,
    seeds=5,
)
def path_local(rng):
    problem = published(rng, 0.0)
    return cone_angle(problem, max_margin(problem, [1]).p)


@path_local.control("the neighbour scores higher", drops="tight-optimal")
def _(rng):
    problem = published(rng, 0.95)
    return cone_angle(problem, max_margin(problem, [1]).p)


@claim(
    "thm-path-only",
    "Within a cone around any other direction the path does not tend to it: it stops, or leaves.",
    source="paper B Theorem 4",
    rests=("thm-nearest", "thm-path-local"),
    assumes=("independent-active",),
    kind="numeric",
    tolerance=0.5,
    seeds=5,
)
def path_only(rng):
    """1 if the path stays on the axis of its cone, 0 if it ends on the cone's edge."""
    problem, q = published(rng, 0.0), rng.normal(size=2)
    return 1 - cone_angle(problem, q) / np.arccos(1 - 1e-3)


@path_only.control(
    "a bad neighbour between two good ones: active differences are dependent", drops="independent-active"
)
def _(rng):
    K = [[0.0, 0.0], [-1.0, -1.0], [-1.0, 1.0], [-1.0, 0.0]]
    problem = SelectionProblem(K, [1.0, 0.0, 0.0, rng.uniform(1.1, 1.5)], np.ones((1, 4)), [1])
    return 1 - cone_angle(problem, np.array([1.0, 0.0])) / np.arccos(1 - 1e-3)


@path_only.control("the direction is max-margin and locally optimal")
def _(rng):
    problem = published(rng, 0.0)
    return 1 - cone_angle(problem, max_margin(problem, [1]).p) / np.arccos(1 - 1e-3)


@claim(
    "thm-path-asymptote",
    "p(R) = R u + x + O(1/R), x the minimiser of sum c_k e^{-a_k.x} over the tight pairs: the angle falls like |x|/R.",
    source="proved here",
    rests=("thm-path-global", "thm-path-local", "thm-tangent", "prop-pairwise"),
    assumes=("strict",),
    covers=("eq-path-phi",),
    kind="numeric",
    tolerance=0.01,
    seeds=5,
)
def path_line(rng):
    return line_error(rng, factor=1.0)


@path_line.control("the line goes through 0")
def _(rng):
    return line_error(rng, factor=0.0)


@path_line.control("a tight constraint has no positive multiplier: the path drifts off any line", drops="strict")
def _(rng):
    idle = SelectionProblem([[0.0, 0], [-1, 0], [-1, -1]], [5.0, 0, 0], [[1, 1, 0], [1, 0, 1]], [1, 1])
    near = follow(idle, np.array([1.0, 0.05]), [1e3])
    far = follow(idle, near, [3e3])
    return abs(far[1] - near[1])


def follow(problem, p, radii):
    for R in radii:
        p = minimise_in_ball(problem, p * (R / np.linalg.norm(p)), R)
    return p


def line_error(rng, factor, R=1e5):
    """|p(R) - R u - x| / |x|, p(R) by Newton's method from near u."""
    while True:
        problem = gaussian(rng, 4, 5, 8)
        chosen = selected(problem, rng.normal(size=8))
        solution = max_margin(problem, chosen, solver="NNLS")
        if is_locally_optimal(problem, chosen, solution) and len(solution.tight) > 1 and solution.rates().rho > 0.05:
            break
    u, x = solution.p * solution.margin, asymptote(problem, chosen, solution)
    p = follow(problem, u, np.geomspace(300, R, 7))
    return float(np.linalg.norm(p - R * u - factor * x) / np.linalg.norm(x))
