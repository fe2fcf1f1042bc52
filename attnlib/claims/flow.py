"""Chapter "Gradient flow on p"."""

import numpy as np
import torch
from scipy.integrate import quad
from scipy.special import expit, softmax

from ..flow import gradient_flow, log_times, turning
from ..margin import angle, max_margin
from ..optimality import is_locally_optimal, neighbours, selected
from ..problem import SelectionProblem
from ..shortest import Infeasible
from ..sources import important_tokens
from . import claim
from .residuals import relative, worst

DEFINES = ("eq-flow",)


# --- no rest, no bound ---


def lifted(rng):
    """Independent keys, one important type a document with the best label-score there, and the x that lifts it."""
    corpus = important_tokens(n=10, T=5, important=2, irrelevant=5, seed=int(rng.integers(2**31)))
    keys = rng.normal(size=(9, 12))
    values = np.r_[rng.uniform(1, 2, 2), -rng.uniform(1, 2, 2), rng.uniform(-0.5, 0.5, 5)]
    singled = np.where(corpus.counts.toarray()[:, :4] > 0, np.arange(4), -1).max(axis=1)
    x = np.linalg.lstsq(keys, (np.arange(9) < 4).astype(float))[0]
    return SelectionProblem(keys, values, corpus.counts, corpus.labels), singled, x


def opposed(rng):
    """Two documents with one pair of types between them, which helps the one and hurts the other."""
    return SelectionProblem([[0.0, 0.0], [1.0, rng.uniform()]], [0.0, rng.uniform(1, 2)], [[1, 1], [2, 1]], [1, -1])


def dense_attention(problem, p):
    """A (n, m), by a softmax of each document with the logarithms of the counts."""
    with np.errstate(divide="ignore"):
        return softmax(problem.keys @ p + np.log(problem.counts.toarray()), axis=1)


def along(problem, singled, p):
    """(1/n) sum_i g_i A_{is_i} y_i (gamma_{s_i} - f_i)."""
    A, y, gamma = dense_attention(problem, p), problem.labels, problem.values
    f = A @ gamma
    return (expit(-y * f) * A[np.arange(len(y)), singled] * y * (gamma[singled] - f)).mean()


def at_rest(rng, problem, singled, x):
    """0 to rounding if the pull along x is what the proof says and positive, near and far, and the orbit runs away."""
    d, found = len(x), []
    for size in (0.0, 0.3, 1.0, 3.0):
        p = size * rng.normal(size=d)
        found.append(abs(-problem.gradient(p) @ x / along(problem, singled, p) - 1))
    far = (problem.direction(size * rng.normal(size=d)) @ x for size in (1, 30, 1000))
    orbit = gradient_flow(problem, start=rng.normal(size=d), length=300.0)
    escaped = orbit.ended == "length" and np.linalg.norm(orbit.points[-1]) > 100
    return worst(*found, worst(-x for x in far), float(not escaped))  # far out the pull along x may be lost in rounding


@claim(
    "prop-divergence",
    "If some x lifts the best type of every document above all others alike, p never rests and |p| grows to infinity.",
    source="proved here",
    rests=("thm-gradients",),
    assumes=("lift", "best-score"),
    kind="numeric",
    tolerance=1e-10,
    seeds=5,
)
def divergence(rng):
    return at_rest(rng, *lifted(rng))


@divergence.control("one type is best for one document and worst for another: no x lifts both", drops="lift")
def _(rng):
    problem = opposed(rng)
    return at_rest(rng, problem, np.array([1, 0]), problem.keys[1])


@divergence.control("the lifted type has the worst label-score of the second document", drops="best-score")
def _(rng):
    problem = opposed(rng)
    return at_rest(rng, problem, np.array([1, 1]), problem.keys[1] / (problem.keys[1] @ problem.keys[1]))


# --- how the tangent turns ---


def differentiated(problem, p):
    """-hess L and the Jacobian of -grad L / |grad L|, by automatic differentiation of the dense softmax."""
    K, gamma, y = (torch.tensor(x) for x in (problem.keys, problem.values, problem.labels))
    log_C = torch.log(torch.tensor(problem.counts.toarray()))

    def loss(p):
        return torch.nn.functional.softplus(-y * (torch.softmax(K @ p + log_C, dim=1) @ gamma)).mean()

    p = torch.tensor(p)
    H, G = -torch.autograd.functional.hessian(loss, p).numpy(), -torch.autograd.functional.jacobian(loss, p).numpy()
    norm = np.linalg.norm(G)
    # d(G/|G|) = dG/|G| - G (G.dG)/|G|^3, column by column
    return H, H / norm - np.outer(G, G @ H) / norm**3


def written_out(problem, p, last=1.0, mean=1.0):
    """-hess L document by document as the proposition prints it; a factor of 0 leaves a term out."""
    A, y, n = dense_attention(problem, p), problem.labels, len(problem.labels)
    H = np.zeros((len(p), len(p)))
    for i, best in enumerate(problem.best_token(problem.keys @ p)):
        f = A[i] @ problem.values
        a = problem.keys[best] - problem.keys
        W = y[i] * expit(-y[i] * f) * A[i] * (f - problem.values) / n
        G, abar = W @ a, mean * A[i] @ a
        H += np.outer(G, abar) + np.outer(abar, G) - (a.T * W) @ a - last * n * np.exp(y[i] * f) * np.outer(G, G)
    return H


@claim(
    "prop-tail-hessian",
    "The Hessian in p is a sum over the same weights, and with it the change of the unit tangent.",
    source="proved here",
    rests=("prop-tail-weights", "thm-gradients"),
    kind="numeric",
    tolerance=1e-11,
    seeds=10,
)
def tail_hessian(rng):
    problem, p = sequences(rng), rng.normal(size=10) * rng.choice([0.1, 0.5, 1.0])
    (H, J), weights = differentiated(problem, p), problem.tail(p)
    found = weights.hessian() * np.exp(weights.top), written_out(problem, p)
    return worst(*(relative(x, H) for x in found), relative(turning(problem, p), J))


@tail_hessian.control("without the curvature of the loss")
def _(rng):
    problem, p = sequences(rng), 0.5 * rng.normal(size=10)
    return relative(written_out(problem, p, last=0.0), differentiated(problem, p)[0])


@tail_hessian.control("without the mean difference, as if attention did not follow p")
def _(rng):
    problem, p = sequences(rng), 0.5 * rng.normal(size=10)
    return relative(written_out(problem, p, mean=0.0), differentiated(problem, p)[0])


# --- the direction ---


def sequences(rng, n=6, T=8, d=10):
    """Gaussian sequences with random labels."""
    X, v = rng.normal(size=(n, T, d)), rng.normal(size=d)
    return SelectionProblem.from_sequences(X, rng.choice([-1, 1], n), v)


def limit(problem, **options):
    """An orbit, and the max-margin solution of what its end selects."""
    orbit = gradient_flow(problem, **options)
    return orbit, max_margin(problem, problem.best_token(problem.keys @ orbit.points[-1]))


def equal_values(rng):
    """One document: token 0 is selected, token 1 is its neighbour and worth the same, token 2 is worth less.

    Only token 2 is pushed away, so the limit is K_0 - K_2, which is not the max-margin direction of token 0."""
    keys = [[1.0, 0.0], [0.5, rng.uniform(0.2, 0.4)], [0.0, 0.0]]
    return SelectionProblem(keys, [1.0, 1.0, 0.0], [[1, 1, 1]], [1])


def tied_limit():
    """One document whose best token lies between two others: the orbit goes where all three score alike."""
    return SelectionProblem([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, -1.0]], [1.0, 0, 0, 0], [[1, 1, 1, 1]], [1])


@claim(
    "thm-direction",
    "Where p diverges and settles, its direction is the max-margin one of the tokens it selects.",
    source="proved here; papers A and B have it for their settings",
    rests=("prop-pairwise", "prop-certificate"),
    assumes=("diverges", "settles", "strict-limit", "tight-optimal"),
    kind="numeric",
    tolerance=1e-9,
    seeds=4,
)
def direction(rng):
    problem = sequences(rng)
    orbit, solution = limit(problem, length=20_000.0)
    chosen = selected(problem, orbit.points[-1])
    touching = sum(map(len, neighbours(problem, chosen, solution)))  # every token has a row of its own
    if touching != len(solution.tight) or not is_locally_optimal(problem, chosen, solution):
        return 1.0
    return worst(angle(orbit.tangents[-1], solution.p), solution.certificate().worst)


@direction.control("the orbit comes to rest", drops="diverges")
def _(rng):
    halves = [opposed(rng), opposed(rng)]  # each pulls on coordinates of its own
    keys = np.block([[halves[0].keys, np.zeros((2, 2))], [np.zeros((2, 2)), halves[1].keys]])
    counts = np.kron(np.eye(2), [[1, 1], [2, 1]])
    problem = SelectionProblem(keys, np.r_[halves[0].values, halves[1].values], counts, [1, -1, 1, -1])
    orbit, solution = limit(problem, length=100.0)
    return angle(orbit.points[-1], solution.p) if orbit.ended == "stationary" else 0.0


@direction.control("the selected token is worth no more than its neighbour", drops="tight-optimal")
def _(rng):
    orbit, solution = limit(equal_values(rng), start=[5.0, 0.0], length=20_000.0)
    return angle(orbit.tangents[-1], solution.p)


@direction.control(
    "three tokens score alike in the limit, and no direction separates one of them", drops="strict-limit"
)
def _(rng):
    problem = tied_limit()
    end = gradient_flow(problem, start=rng.uniform(0.1, 0.9, 2), length=200.0)
    try:
        return angle(end.tangents[-1], max_margin(problem, [0]).p)
    except Infeasible:
        return np.pi


@direction.control("the max-margin direction of another selection")
def _(rng):
    problem = sequences(rng)
    orbit = gradient_flow(problem, length=20_000.0)
    other = selected(problem, orbit.points[-1])
    other[0] = (other[0] + 1) % 8  # another token of the first document
    return angle(orbit.tangents[-1], max_margin(problem, other).p)


# --- tangent and point ---


def errors(vectors, solution):
    return np.array([angle(vector, solution.p) for vector in vectors])


def fitted_rate(arclength, error):
    """The slope of -log(error) from the last error above 1e-6 to the first below 1e-8, or over the second half."""
    end = np.argmax(error < 1e-8) or len(error)
    above = np.flatnonzero(error[:end] > 1e-6)[-1] + 1
    begin = above if above < end - 1 else end // 2
    return -np.polyfit(arclength[begin:end], np.log(error[begin:end]), 1)[0]


def settling(problem, length=20_000.0, faster=1.0):
    """How much slower the tangent converges than predicted, and how far the point is from its law |b_perp| / tau."""
    orbit, solution = limit(problem, length=length, tolerance=1e-10)
    rate = min(solution.rates()) if solution.strictly_complementary else solution.margin
    slower = 1 - fitted_rate(orbit.arclength, errors(orbit.tangents, solution)) / (faster * rate)
    u, tau = solution.p / np.linalg.norm(solution.p), orbit.arclength[-1]
    b = orbit.points - orbit.arclength[:, None] * u
    half = np.searchsorted(orbit.arclength, tau / 2)
    across = b[-1] - (b[-1] @ u) * u
    moved = np.linalg.norm(b[half:] - b[-1], axis=1).max() / np.linalg.norm(b[-1])
    return worst(0.0, slower), worst(moved, abs(tau * angle(orbit.points[-1], u) / np.linalg.norm(across) - 1))


@claim(
    "thm-tangent",
    "The tangent converges like e^{-kappa tau} for every kappa < min(rho, gap, mu), the point only like 1/tau.",
    source="proved here",
    rests=("thm-direction",),
    assumes=("strict", "tight-optimal"),
    kind="numeric",
    tolerance=0.1,  # a fit ends before the limit does: where rho and gap nearly agree it was 6 per cent short
    seeds=4,
)
def tangent(rng):
    scale, theta = rng.uniform(0.5, 0.8), rng.uniform(0.4, 0.7)
    X = scale * np.array([[[1, theta], [0, 0]], [[1, -theta], [0, 0]]])
    pair = SelectionProblem.from_sequences(X, [1, 1], v=[1.0, 0.5])  # the hull is a segment: rho by hand
    by_hand = abs(max_margin(pair, [0, 2]).rates().rho / (scale * theta**2) - 1)
    return worst(1e9 * by_hand, *settling(sequences(rng)))


@tangent.control("a tight constraint that no multiplier can use: 1/tau for the tangent too", drops="strict")
def _(rng):
    counts, values = [[1, 1, 0], [1, 0, 1]], [rng.uniform(2, 5), 0.0, 0.0]
    problem = SelectionProblem([[0.0, 0.0], [-1.0, 0.0], [-1.0, -1.0]], values, counts, [1, 1])
    return settling(problem, length=3000.0)[0]


@tangent.control("three times the rate")
def _(rng):
    return settling(sequences(rng), faster=3.0)[0]


@tangent.control("the point converges as fast as the tangent")
def _(rng):
    orbit, solution = limit(sequences(rng), length=20_000.0, tolerance=1e-10)
    return 1 - fitted_rate(orbit.arclength[1:], errors(orbit.points[1:], solution)) / min(solution.rates())


# --- real time ---


def off_sharp(problem, longer=1.0, **options):
    """How far t (L - L_q) / |p^|^2 is from 1 at the end; and the drift of |p| - |p^| log t after t = e^1000, in
    millionths: it is bounded, while a norm off by one part in a thousand would drift by hundreds."""
    orbit, solution = limit(problem, **options)
    log_excess, sign = problem.tail(orbit.points[-1]).log_excess()
    size, late = longer * np.linalg.norm(solution.p), orbit.log_time > min(1000, orbit.log_time[-1] / 2)
    ratio = sign * np.exp(orbit.log_time[-1] + log_excess) / size**2
    drift = np.ptp((np.linalg.norm(orbit.points, axis=1) - size * orbit.log_time)[late])
    return worst(abs(ratio - 1), 1e-6 * drift)


def off_clock(rng):
    """The clock dt = dtau / |G| on a few steps of a |G| that falls ever faster, against quadrature."""
    tau, bend = np.sort(rng.uniform(0, 1, 4)), rng.uniform(0.2, 1.0)
    tau -= tau[0]

    def log_norm(tau):
        return -bend * tau**2 - tau

    log_time = log_times(tau, log_norm(tau), log_norm((tau[1:] + tau[:-1]) / 2))
    t = [quad(lambda x: np.exp(-log_norm(x)), 0, end, epsabs=0, epsrel=1e-12)[0] for end in tau[1:]]
    return relative(np.exp(log_time[1:]), np.array(t))


@claim(
    "thm-sharp",
    "t (L - L_q) tends to |p^|^2, and |p| = |p^| log t + O(1).",
    source="proved here",
    rests=("thm-direction", "thm-tangent", "prop-certificate"),
    assumes=("strict-limit", "tight-optimal"),
    covers=("eq-arc",),
    kind="numeric",
    tolerance=1e-6,
    seeds=4,
)
def sharp(rng):
    return worst(off_sharp(sequences(rng), length=1e5), off_clock(rng))


@sharp.control("a norm two per cent too large")
def _(rng):
    return off_sharp(sequences(rng), longer=1.02, length=1e5)


@sharp.control("the selected token is worth no more than its neighbour", drops="tight-optimal")
def _(rng):
    return off_sharp(equal_values(rng), start=[5.0, 0.0], length=1e5)


@sharp.control("three tokens score alike in the limit: there is no p^", drops="strict-limit")
def _(rng):
    try:
        return off_sharp(tied_limit(), start=rng.uniform(0.1, 0.9, 2), length=200.0)
    except Infeasible:
        return 1.0
