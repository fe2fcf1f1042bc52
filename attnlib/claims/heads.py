"""Chapter "Other losses and nonlinear heads"."""

from itertools import product

import numpy as np
import torch
from scipy.optimize import minimize
from scipy.special import log_expit

from ..descent import regularization_path
from ..flow import gradient_flow
from ..heads import tangent_problem
from ..losses import LOGISTIC, LOSSES
from ..margin import angle, max_margin
from ..nonconvex import max_margin_any
from ..problem import SelectionProblem
from . import claim


def orthogonal(rng, ell, twist=0.0):
    """Three documents of two tokens, their differences orthogonal up to `twist`, and the differences and gaps."""
    a = np.linalg.qr(rng.normal(size=(4, 4)))[0][:3] * rng.uniform(0.7, 1.5, size=(3, 1))
    a[1] += twist * a[0]
    gamma = rng.uniform(0.5, 3, 3)
    keys, values = np.stack([a, np.zeros_like(a)], axis=1), np.stack([gamma, np.zeros(3)], axis=1)
    return SelectionProblem(keys.reshape(6, 4), values.ravel(), np.kron(np.eye(3), [1, 1]), [1] * 3, ell), a, gamma


def transient_residual(rng, twist=0.0):
    """How far the differences of the scores end from log(kappa_i / kappa_j), which the flow's own clock cannot blur."""
    ell = LOSSES[rng.integers(3)]
    problem, a, gamma = orthogonal(rng, ell, twist)
    z = a @ gradient_flow(problem, length=400.0, tolerance=1e-9).points[-1]
    log_kappa = np.log((a**2).sum(axis=1) * gamma / 3) + ell.log_slope(gamma)
    return float(np.abs(np.diff(z - log_kappa)).max())


@claim(
    "prop-transient",
    "Orthogonal documents move independently; their scores end apart by the log ratio of the weights kappa_i.",
    source="proved here",
    rests=("prop-pairwise", "prop-certificate"),
    assumes=("orthogonal",),
    kind="numeric",
    tolerance=1e-5,
    seeds=6,
)
def transient(rng):
    return transient_residual(rng)


@transient.control("the differences are not orthogonal", drops="orthogonal")
def _(rng):
    return transient_residual(rng, twist=0.5)


def plane(rng):
    """Three documents in the plane with two optimal tokens each, one of them far out so that the program is feasible."""
    keys = rng.normal(size=(3, 4, 2))
    keys[:, 0] += 4 * np.array([np.cos(x := rng.uniform(0, 6.28)), np.sin(x)])
    problem = SelectionProblem(keys.reshape(12, 2), np.tile([1.0, 1, 0, 0], 3), np.kron(np.eye(3), np.ones(4)), [1] * 3)
    return problem, [[4 * i, 4 * i + 1] for i in range(3)]


def widest(problem):
    """max over unit vectors of min_i (max over the first two z - max over the others z), by a scan and a local search."""

    def margin(phi):
        z = (np.stack([np.cos(phi), np.sin(phi)], axis=-1) @ problem.keys.T).reshape(*np.shape(phi), 3, 4)
        return (z[..., :2].max(axis=-1) - z[..., 2:].max(axis=-1)).min(axis=-1)

    grid = np.linspace(0, 2 * np.pi, 20001)
    return -min(minimize(lambda x: -margin(x[0]), [g], method="Nelder-Mead", options={"xatol": 1e-12, "fatol": 1e-12}).fun
                for g in grid[np.argsort(margin(grid))[-3:]])  # fmt: skip


@claim(
    "prop-union",
    "The program with a choice is the best of one max-margin problem for each choice.",
    source="paper B's (ATT-SVM'), solved here",
    rests=("def-max-margin", "thm-nearest"),
    kind="numeric",
    tolerance=1e-6,
    seeds=5,
)
def union(rng):
    problem, sets = plane(rng)
    return abs(max_margin_any(problem, sets)[0].margin / widest(problem) - 1)


@union.control("only the second optimal token may win, though the first is further out")
def _(rng):
    problem, sets = plane(rng)
    try:
        return abs(max_margin_any(problem, [s[1:] for s in sets])[0].margin / widest(problem) - 1)
    except ValueError:
        return np.inf


def path_residual(problem, solutions):
    """Angle of the path at R = 3000 margins to the nearest solution."""
    (far,) = regularization_path(problem, [3000.0 / solutions[0].margin], starts=3)
    return min(angle(far, solution.p) for solution in solutions)


@claim(
    "thm-path-any",
    "Under Assumption D the regularisation path tends to the solutions of the program with a choice.",
    source="paper B Theorem 8, proved here",
    rests=("def-any-margin", "ass-order"),
    assumes=("assumption-d",),
    kind="numeric",
    tolerance=5e-3,
    seeds=3,
)
def path_any(rng):
    problem, sets = plane(rng)
    return path_residual(problem, max_margin_any(problem, sets))


@path_any.control("a token outside the sets is as good as those inside", drops="assumption-d")
def _(rng):
    problem, sets = plane(rng)
    keys, values = problem.keys.copy(), np.tile([1.0, 1, 1, 0], 3)
    keys[2::4] = -2 * keys[0::4]  # the third token ties, and lies further out than the first, on the other side
    tied = SelectionProblem(keys, values, problem.counts, problem.labels)
    return path_residual(tied, max_margin_any(tied, sets))


def circle_path(first, second, R=1e4):
    """The angle of the least e^{first} + e^{second} on the circle, both functions of log q_1 and log q_2, for the
    differences (1, 1) and (1, -1)."""

    def excess(phi):
        c, s = R * np.cos(phi), R * np.sin(phi)
        return np.logaddexp(first(log_expit(-(c + s))), second(log_expit(-(c - s))))

    grid = np.linspace(-np.pi / 4, np.pi / 4, 200_001)
    return float(grid[np.argmin(excess(grid))])


@claim(
    "lem-sandwich",
    "Margins between two lines in the wasted attention, and ell' < 0 at their tops, imply Assumption D.",
    source="paper B Lemma 14, corrected here",
    rests=("ass-order",),
    assumes=("slope-at-top", "lower-line"),
    kind="numeric",
    tolerance=1e-3,
    seeds=3,
)
def sandwich(rng):
    # lines of random slopes and heights, of either sign, in place of a head: the path goes to (1, 0)
    nu, slope = rng.normal(size=2), rng.uniform(0.5, 3, 2)
    documents = [lambda x, nu=nu, s=s: LOGISTIC.log_drop(nu - s * np.exp(x), x + np.log(s)) for nu, s in zip(nu, slope)]
    return abs(circle_path(*documents))


@sandwich.control("the loss (1 - u)^3, whose slope vanishes at the top of the first document", drops="slope-at-top")
def _(rng):
    return abs(circle_path(lambda x: 3 * x, lambda x: x + np.log(6 - 12 * np.exp(x) + 8 * np.exp(2 * x))))


@sandwich.control("the margin falls like a root of the wasted attention in the first document", drops="lower-line")
def _(rng):
    return abs(
        circle_path(
            lambda x: LOGISTIC.log_drop(1 - np.exp(x / 2), x / 2), lambda x: LOGISTIC.log_drop(1 - np.exp(x), x)
        )
    )


@claim(
    "cor-path-linear",
    "With a linear head and ell' < 0 the path tends to the program of the best tokens, whatever the sign of scores.",
    source="paper B Theorem 1, for any scores, proved here",
    rests=("lem-sandwich", "thm-path-any"),
    assumes=("optimal-sets",),
    kind="numeric",
    tolerance=5e-3,
    seeds=3,
)
def path_linear(rng):
    problem, best = shifted_gaussian(rng)
    return path_residual(problem, [max_margin(problem, best)])


@path_linear.control("the sets hold the worst tokens", drops="optimal-sets")
def _(rng):
    problem, _ = shifted_gaussian(rng)
    worst = [4 * i + int(np.argmin(row)) for i, row in enumerate(problem.values.reshape(3, 4))]
    return path_residual(problem, [max_margin(problem, worst)])


def shifted_gaussian(rng):
    """Three documents in d = 12, so that every selection is feasible, one of the losses, every score negative."""
    X, gamma = rng.normal(size=(12, 12)), -1 - rng.uniform(0, 2, 12)
    problem = SelectionProblem(X, gamma, np.kron(np.eye(3), np.ones(4)), [1] * 3, LOSSES[rng.integers(3)])
    return problem, [4 * i + int(np.argmax(row)) for i, row in enumerate(gamma.reshape(3, 4))]


def convex_head(rng, d=5):
    w = torch.tensor(rng.normal(size=(6, d)))
    return lambda x: torch.nn.functional.softplus(x @ w.T).sum(dim=1)


@claim(
    "prop-vertex",
    "A head that peaks at one token of each document, with a fall of first order, satisfies the two lines.",
    source="proved here",
    assumes=("peaks-at-token",),
    kind="numeric",
    tolerance=0.0,
    seeds=4,
)
def vertex(rng):
    return line_violated(rng)


@vertex.control("the same heads with the label flipped: concave, their best point is a mixture", drops="peaks-at-token")
def _(rng):
    return line_violated(rng, label=-1.0)


def line_violated(rng, label=1.0):
    """By how much (nu - h)/q falls below its smallest value at a token, over a grid of mixtures: for a convex head, by
    nothing, and the upper line holds with that slope."""
    X, head = rng.normal(size=(4, 5)), convex_head(rng)
    weights = np.array([w for w in product(np.linspace(0, 1, 9), repeat=4) if sum(w) > 0])
    weights /= weights.sum(axis=1, keepdims=True)
    with torch.no_grad():
        h, mixed = (label * head(torch.tensor(x)).numpy() for x in (X, weights @ X))
    r = h.argmax()
    q = 1 - weights[:, r]
    slope = np.delete(h[r] - h, r).min()
    return max(0.0, slope * (1 - 1e-9) - ((h[r] - mixed)[q > 1e-9] / q[q > 1e-9]).min())


@claim(
    "prop-tangent-head",
    "The gradient of any head is that of a linear one, with the correlation loss and values g_i v_i.E_u.",
    source="proved here, after paper B's appendix A",
    kind="numeric",
    tolerance=1e-9,
    seeds=10,
)
def tangent_head(rng):
    return head_residual(rng, LOGISTIC)


@tangent_head.control("the weights g_i of the documents are left out")
def _(rng):
    return head_residual(rng, LOSSES[2])


def head_residual(rng, ell):
    """The direction against backpropagation through softmax, network and logistic loss."""
    X, y, head = rng.normal(size=(4, 5, 3)), rng.choice([-1.0, 1.0], 4), convex_head(rng, 3)
    p = torch.tensor(rng.normal(size=3), requires_grad=True)
    features = (torch.softmax(torch.tensor(X) @ p, dim=1).unsqueeze(-1) * torch.tensor(X)).sum(dim=1)
    loss = torch.nn.functional.softplus(-torch.tensor(y) * head(features)).mean()
    wanted = -torch.autograd.grad(loss, p)[0].numpy()
    at = p.detach().numpy()
    return angle(tangent_problem(X, y, head, at, ell=ell).direction(at), wanted)
