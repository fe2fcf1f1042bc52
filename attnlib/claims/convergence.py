"""Chapter "Global and local convergence"."""

import numpy as np
import torch
from scipy.special import expit

from ..cones import cone_constants, cone_ratio, published_constants
from ..descent import descend
from ..examples import figure1, two_limits
from ..flow import gradient_flow
from ..margin import angle, max_margin
from ..optimality import is_locally_optimal
from ..problem import SelectionProblem
from ..shortest import Infeasible
from ..smoothness import smoothness
from . import claim
from .residuals import worst as largest


def torch_loss(problem):
    """L as a function of a torch vector: the dense softmax over all tokens, with log counts."""
    K, gamma, y = (torch.tensor(x) for x in (problem.keys, problem.values, problem.labels))
    log_C = torch.log(torch.tensor(problem.counts.toarray()))
    return lambda p: torch.nn.functional.softplus(-y * (torch.softmax(log_C + K @ p, dim=1) @ gamma)).mean()


def autograd(problem, p) -> np.ndarray:
    return torch.autograd.functional.jacobian(torch_loss(problem), torch.tensor(p)).numpy()


def broken_promise(rng, factor=1.0, smaller=1.0) -> float:
    """Relative to the bounds: the excess of the Hessian over L, and what a step of factor/L misses of its promise."""
    X, v = rng.normal(size=(2, 3, 2)), rng.normal(size=2)
    problem = SelectionProblem.from_sequences(X, [1, -1], v)
    L, worst = smoothness(problem) / smaller, 0.0
    loss = torch_loss(problem)
    for p in rng.normal(size=(40, 2)) * rng.choice([0.3, 1.0, 3.0], (40, 1)):
        H = torch.autograd.functional.hessian(loss, torch.tensor(p))
        worst = largest(worst, torch.linalg.matrix_norm(H, 2).item() / L - 1)
        G = -autograd(problem, p)
        fall = loss(torch.tensor(p)).item() - loss(torch.tensor(p + factor / L * G)).item()
        worst = largest(worst, 1 - fall / (factor / L * (G @ G) / 2))
    return worst


@claim(
    "prop-smooth",
    "grad L has Lipschitz constant (1/n) sum (M0 G^2 D^2/16 + M1 G D^2/4); steps up to 1/L lower the loss as promised.",
    source="paper B Lemma 6 with a smaller constant, proved here",
    rests=("thm-gradients",),
    assumes=("short-step",),
    kind="numeric",
    tolerance=1e-9,
    seeds=5,
)
def smooth(rng):
    return broken_promise(rng)


@smooth.control("a step of 300/L", drops="short-step")
def _(rng):
    return broken_promise(rng, factor=300.0)


@smooth.control("a constant 20 times smaller")
def _(rng):
    return broken_promise(rng, smaller=20.0)


def two_levels(rng, n=2, T=4, d=5, feasible=True) -> SelectionProblem:
    """A random problem with two levels of label-score; token 0 of each document is optimal."""
    keys, y = rng.normal(size=(n * T, d)), rng.choice([-1.0, 1.0], n)
    if not feasible:  # the second document is the first with optimal and other tokens exchanged in key
        keys[T : 2 * T] = keys[0]
        keys[T] = keys[1]
        keys[2:T] = keys[1]
    values = np.repeat(y * rng.normal(size=n), T)
    values[::T] += y * rng.uniform(0.5, 2, n)
    return SelectionProblem(keys, values, np.kron(np.eye(n), np.ones(T)), y)


def longest_difference(problem, selection) -> float:
    C, K = problem.counts.toarray(), problem.keys
    return max(np.linalg.norm(K[s] - K[np.flatnonzero(row)], axis=1).max() for s, row in zip(selection, C))


def uphill(problem, selection, points) -> float:
    """How far the two inequalities of the lemma are missed, relative to |G|, by automatic differentiation."""
    solution, worst, longest = max_margin(problem, selection), 0.0, longest_difference(problem, selection)
    Theta, C, y, gamma = solution.margin, problem.counts.toarray(), problem.labels, problem.values
    for p in points:
        G = -autograd(problem, p)
        A = C * np.exp(problem.keys @ p - (problem.keys @ p).max())
        A /= A.sum(axis=1, keepdims=True)
        on = A[np.arange(len(y)), selection]
        gap = [y[i] * gamma[s] - (y[i] * gamma[np.flatnonzero(C[i])]).min() for i, s in enumerate(selection)]
        least = (expit(-y * (A @ gamma)) * gap * on * (1 - on)).mean()
        size = np.linalg.norm(G)
        worst = largest(worst, (least - G @ solution.p) / (size * np.linalg.norm(solution.p)))
        worst = largest(worst, (Theta / longest * size - G @ solution.p * Theta) / size)
    return float(worst)


@claim(
    "lem-downhill",
    "With two levels, G.p^ > 0 at every p, by a stated amount, and G.u^ >= (Theta/b) |G|.",
    source="paper B Lemma 4; the second part is ours",
    rests=("prop-pairwise",),
    assumes=("two-levels", "negative-slope"),
    kind="numeric",
    tolerance=1e-9,
    seeds=5,
)
def downhill(rng):
    return uphill(two_levels(rng), [0, 4], rng.normal(size=(40, 5)) * rng.choice([0.1, 0.5], (40, 1)))


@downhill.control("three levels: Figure 1(b), far out towards token 1", drops="two-levels")
def _(rng):
    return uphill(figure1("b"), [0], np.array([[rng.uniform(8, 12), 0.0]]))


@downhill.control("the loss -u^3 at f = 0: no slope to go down, for |grad f| = 1", drops="negative-slope")
def _(rng):
    keys, p = torch.tensor(rng.normal(size=(2, 3))), torch.zeros(3, dtype=torch.float64, requires_grad=True)
    f = torch.softmax(keys @ p, dim=0) @ torch.tensor([1.0, -1.0], dtype=torch.float64)
    (slope,) = torch.autograd.grad(f, p, retain_graph=True)
    (G,) = torch.autograd.grad(f**3, p)
    return 1 - float(G @ slope / (slope @ slope))  # 0 for the correlation loss -u


def too_little_growth(problem, selection, rates, start) -> float:
    """How far the growth of u^.p along plain descent misses (Theta/b) h, relative; and 2 if p ends near the origin."""
    p, worst, least = np.array(start, dtype=float), 0.0, -1.0
    try:
        solution = max_margin(problem, selection)
        u, least = solution.p * solution.margin, solution.margin / longest_difference(problem, selection)
    except Infeasible:
        u = np.zeros_like(p)
    for eta in rates:
        G = -problem.gradient(p)
        size = np.linalg.norm(G)
        if size > 1e-10:  # below, G is rounding
            worst = largest(worst, least - G @ u / size)
        p = p + eta * G
    return float(largest(worst, 2.0 if np.linalg.norm(p) < 0.5 else 0.0))


@claim(
    "thm-diverge",
    "With two levels |p| grows without bound, at any step sizes with infinite sum.",
    source="paper B Theorem 2, first part; any step size is ours",
    rests=("lem-downhill",),
    assumes=("two-levels", "feasible"),
    kind="numeric",
    tolerance=1e-9,
    seeds=5,
)
def diverge(rng):
    return too_little_growth(two_levels(rng), [0, 4], 10 ** rng.uniform(-1, 3, 300), np.zeros(5))


@diverge.control("three levels: it turns back", drops="two-levels")
def _(rng):
    return too_little_growth(figure1("b"), [0], [0.1] * 5, [rng.uniform(5, 10), 0.0])


@diverge.control("two documents with exchanged keys: p stays", drops="feasible")
def _(rng):
    keys = rng.normal(size=(2, 3))
    contrary = SelectionProblem(keys, [1.0, -1.0], [[1, 1], [1, 1]], [1, -1])
    return too_little_growth(contrary, [0, 1], [1.0] * 300, 0.1 * rng.normal(size=3))


def single_residual(rng) -> float:
    """The violation of the bound along flow, plain and normalised descent, the angle of G to -grad Phi, and the angle
    of the last tangent to the max-margin direction."""
    problem = two_levels(rng, n=1, T=5, d=5)
    K, start = problem.keys, rng.normal(size=5)
    solution, a = max_margin(problem, [0]), K[0] - K[1:]
    Theta, D2 = solution.margin, max(np.square(a - b).sum(axis=1).max() for b in a)
    room = np.linalg.norm(start) + np.log(np.exp(-a @ start).sum()) / Theta
    orbit = gradient_flow(problem, start, length=3000.0)
    plain = descend(problem, start, 500, 1 / smoothness(problem), "plain")
    worst = angle(orbit.tangents[-1], solution.p) if solution.strictly_complementary else 0.0
    for points, curved in ((orbit.points, 0.0), (plain, 1.0), (descend(problem, start, 500, 0.1), 1.0)):
        norm = np.linalg.norm(points, axis=1)
        h = np.linalg.norm(np.diff(points, axis=0), axis=1)
        bound = 1 - (room + curved * D2 / (8 * Theta) * np.r_[0, np.cumsum(h**2)]) / norm
        worst = largest(worst, (bound - points @ solution.p * Theta / norm).max())
    for p in plain[:20]:
        worst = largest(worst, angle(-autograd(problem, p), np.exp(-a @ p) @ a))
    return worst


@claim(
    "thm-single",
    "One document, two levels: every start goes to the global direction, 1 - cos at most a constant over |p|.",
    source="paper B Theorem 2, second part; the rate and the convex function are ours",
    rests=("lem-downhill", "thm-diverge", "thm-nearest", "prop-smooth"),
    assumes=("one-document", "two-levels"),
    kind="numeric",
    tolerance=1e-6,
    seeds=5,
    covers=("eq-convex",),
)
def single(rng):
    return single_residual(rng)


@single.control("a second document: flow from below ends elsewhere", drops="one-document")
def _(rng):
    orbit = gradient_flow(two_limits(), [rng.uniform(0, 1), -5.0], length=1000.0)
    return angle(orbit.tangents[-1], np.array([1.0, 3.0]))


@single.control("three levels: Figure 1(b) from below", drops="two-levels")
def _(rng):
    orbit = gradient_flow(figure1("b"), [0.0, -rng.uniform(1, 1.5)], length=1000.0)
    return angle(orbit.tangents[-1], max_margin(figure1("b"), [0]).p)


def two_limits_residual(starts, direction) -> float:
    """The largest angle between the last tangents and the direction; and the excess of W_2 over its bound."""
    worst = 0.0
    for start in starts:
        orbit = gradient_flow(two_limits(), start, length=3000.0)
        W = np.linalg.solve([[1.0, -2.0], [0.0, 1.0]], orbit.points[-1] - start)
        excess = W[1] - 13.1 * np.exp(-4) if direction[1] == 0 else 0.0
        worst = largest(worst, angle(orbit.tangents[-1], np.array(direction)), excess)
    return worst


def verdicts(problem) -> float:
    """1 if the library's verdict on one of the two selections differs from the theorem's."""
    right = [max_margin(problem, [0, 2]).p - [1, 3], max_margin(problem, [0, 3]).p - [1, 0]]
    local = is_locally_optimal(problem, [0, 2]) and is_locally_optimal(problem, [0, 3])
    return largest(np.abs(right).max(), 0.0 if local else 1.0)


@claim(
    "thm-two-limits",
    "Two documents of two tokens: flow from 0 goes to (1, 3), from a region below to (1, 0), both locally optimal.",
    source="proved here, an instance of paper B Figure 8",
    rests=(
        "prop-certificate",
        "def-local",
        "prop-barrier",
        "thm-selection",
        "prop-pairwise",
    ),
    assumes=("logistic",),
    kind="numeric",
    tolerance=1e-6,
    seeds=3,
)
def limits(rng):
    x = rng.uniform(0, 6, 5)
    below = np.stack([x, x - 4 - rng.exponential(2, 5)], axis=1)
    reached = largest(two_limits_residual([np.zeros(2)], [1.0, 3.0]), two_limits_residual(below, [1.0, 0.0]))
    return largest(reached, verdicts(two_limits()))


@limits.control("starts above the region")
def _(rng):
    return two_limits_residual([np.array([rng.uniform(0, 1), rng.uniform(0, 2)])], [1.0, 0.0])


@limits.control("the second difference is (-1/2, 1): no lost document")
def _(rng):
    problem = two_limits((-0.5, 1.0))
    orbit = gradient_flow(problem, [0.0, -4.0], length=3000.0)
    return largest(angle(orbit.tangents[-1], np.array([1.0, 0.0])), verdicts(problem))


def fan(cone, rng, k, length) -> np.ndarray:
    """k points of a length in a plane cone."""
    turn = np.arctan2(*cone.p[::-1]) + cone.half_angle * rng.uniform(-1, 1, k)
    return length * np.stack([np.cos(turn), np.sin(turn)], axis=1)


def local_problem(rng):
    """A random plane problem of bags and a locally optimal selection, with a neighbour in each document or not."""
    while True:
        C = rng.poisson(0.7, (3, 6)) + np.eye(3, 6)
        problem = SelectionProblem(rng.normal(size=(6, 2)), rng.normal(size=6), C, rng.choice([-1.0, 1.0], 3))
        selection = problem.best_token(problem.keys @ rng.normal(size=2))
        if is_locally_optimal(problem, selection) and (problem.widths > 1).any():
            return problem, selection


def cone_violation(problem, selection, cone, rng) -> float:
    """How far -grad L.q / m leaves [c, C], relative to c, at random points of the cone."""
    worst = 0.0
    for factor in (1.0, 2.0):
        q = fan(cone, rng, 1, 1 / cone.Theta)[0]
        ratio = cone_ratio(problem, selection, fan(cone, rng, 100, factor * cone.R), q)
        worst = largest(worst, (cone.c - ratio.min()) / cone.c, (ratio.max() - cone.C) / cone.c)
    return float(worst)


@claim(
    "lem-cone",
    "In the cone of stated opening and radius -grad L.q lies between c and C times the attention not yet selected.",
    source="paper B Lemma 7, its constants changed where a document has no neighbour; proved here",
    rests=("prop-pairwise",),
    assumes=("locally-optimal",),
    kind="numeric",
    tolerance=1e-9,
    seeds=10,
)
def cone(rng):
    problem, selection = local_problem(rng)
    return cone_violation(problem, selection, cone_constants(problem, selection), rng)


@cone.control("the slack of a document without neighbour is not counted")
def _(rng):
    problem = two_limits((-1.1, 1.0))
    return cone_violation(problem, [0, 3], published_constants(problem, [0, 3]), rng)


@cone.control("a tie with the neighbour: descent points back", drops="locally-optimal")
def _(rng):
    p = np.array([[rng.uniform(40, 60), 0.0]])
    return float(-cone_ratio(figure1("a"), [1], p, [1.0, 0.0])[0] * np.exp(4))


def local_residual(problem, target, start, length) -> float:
    orbit = gradient_flow(problem, start, length=length)
    return angle(orbit.tangents[-1], max_margin(problem, target).p)


@claim(
    "thm-local",
    "From a cone around a locally optimal direction flow and descent with steps up to 1/L converge to it.",
    source="paper B Theorem 3, with the flow; proof ours",
    rests=("def-local", "prop-pairwise", "thm-nearest", "prop-smooth"),
    assumes=("locally-optimal", "start-in-cone"),
    kind="numeric",
    tolerance=1e-6,
    seeds=10,
)
def local(rng):
    problem, selection = local_problem(rng)
    around = cone_constants(problem, selection)
    start = fan(around, rng, 1, 1.5 * around.R)[0]
    return local_residual(problem, selection, start, length=1e3 * np.linalg.norm(start))


@local.control("a tie with the neighbour", drops="locally-optimal")
def _(rng):
    return local_residual(figure1("a"), [1], [rng.uniform(20, 40), 0.0], 1e4)


@local.control("starts from the other side", drops="start-in-cone")
def _(rng):
    return local_residual(figure1("b"), [1], [0.0, rng.uniform(0.5, 1.5)], 1e4)
