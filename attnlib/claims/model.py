"""Chapter "The model"."""

from fractions import Fraction
from itertools import combinations

import mpmath as mp
import numpy as np
import torch
from scipy.integrate import solve_ivp

from ..attention import Attention, Gradients, backward
from ..problem import SelectionProblem
from ..reference import PaddedAttention, autograd_gradients, pad
from ..sources import tilted_zipf
from . import claim
from .residuals import relative, worst

DEFINES = ("eq-model", "eq-loss")


def instance(rng):
    """A random corpus with repeated tokens and unequal lengths, and a random model for it."""
    corpus = tilted_zipf(n=30, size=20, length=9, seed=int(rng.integers(2**31)))
    return corpus, Attention(rng.normal(size=(20, 6)), rng.normal(size=6), rng.normal(size=6))


def padded_logits(model, corpus):
    with torch.no_grad():
        return PaddedAttention(model)(*pad(corpus)).numpy()


@claim(
    "prop-bag",
    "f = C(e^z gamma) / C e^z: the counts are all that a document tells the model.",
    source="proved here",
    kind="numeric",
    tolerance=1e-12,
    seeds=20,
)
def bag(rng):
    corpus, model = instance(rng)
    sharp = [Attention(model.E, size * model.p, model.v) for size in (100, 400)]  # scores thousands apart
    return worst(
        relative(f, padded_logits(x, corpus))
        for x in (model, *sharp)
        for f in (x.logits(corpus), x.attention(corpus) @ x.gamma)
    )


@bag.control("every type counts once, however often it stands there")
def _(rng):
    corpus, model = instance(rng)
    once = type(corpus)(corpus.counts.sign(), corpus.labels, corpus.vocabulary)
    return relative(model.logits(once), padded_logits(model, corpus))


def differences(loss, x, h=1e-5):
    """Central differences of a function of an array, entry by entry."""
    gradient = np.empty_like(x)
    for index in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[index] = h
        gradient[index] = (loss(x + step) - loss(x - step)) / (2 * h)
    return gradient


def agreement(gradients, references) -> float:
    """The worst relative difference of three gradients."""
    return worst(map(relative, gradients, references))


@claim(
    "thm-gradients",
    "-grad_E L = a v' + omega p', -grad_p L = E' omega, -grad_v L = E' a.",
    source="proved here",
    rests=("prop-bag",),
    assumes=("logistic",),
    kind="numeric",
    tolerance=1e-12,
    seeds=20,
)
def gradients(rng):
    corpus, model = instance(rng)
    E, p, v = model.E, model.p, model.v
    by_differences = (
        differences(lambda E: Attention(E, p, v).loss(corpus), E),
        differences(lambda p: Attention(E, p, v).loss(corpus), p),
        differences(lambda v: Attention(E, p, v).loss(corpus), v),
    )
    found = model.gradients(corpus)
    # differences are right to 1e-8: h^2 third derivatives, and 1e-16 / h of rounding
    return worst(agreement(found, autograd_gradients(model, corpus)), 1e-4 * agreement(found, by_differences))


@gradients.control("omega without the subtraction of f_i, as if attention were not normalised")
def _(rng):
    corpus, model = instance(rng)
    a = backward(model.E, model.p, model.v, corpus)[1][0]
    omega = a * model.gamma
    wrong = Gradients(np.outer(a, model.v) + np.outer(omega, model.p), omega @ model.E, a @ model.E)
    return agreement(wrong, autograd_gradients(model, corpus))


@gradients.control("the loss is the square of 1 - y f", drops="logistic")
def _(rng):
    corpus, model = instance(rng)
    module = PaddedAttention(model)
    ((1 - torch.tensor(corpus.labels) * module(*pad(corpus))) ** 2).mean().backward()
    return agreement(model.gradients(corpus), (x.grad.numpy() for x in (module.E, module.p, module.v)))


def singular(G, k) -> float:
    """Singular value k of a matrix, counted from 0, relative to its norm."""
    return float(np.linalg.svd(G, compute_uv=False)[k] / np.linalg.norm(G))


@claim(
    "cor-rank-two",
    "The gradient in E has rank two, rows in the plane of v and p, and rank one if p = 0. (Its cost: make bench.)",
    source="proved here",
    rests=("thm-gradients",),
    assumes=("zero-p",),
    kind="numeric",
    tolerance=1e-14,
    seeds=20,
)
def rank_two(rng):
    corpus, model = instance(rng)
    G, flat = autograd_gradients(model, corpus).E, Attention(model.E, 0 * model.p, model.v)
    plane = np.linalg.qr(np.stack([model.v, model.p], axis=1))[0]
    ours = backward(model.E, model.p, model.v, corpus)[1].T @ np.stack([model.v, model.p])
    one = singular(autograd_gradients(flat, corpus).E, 1)
    return worst(singular(G, 2), one, relative(G @ plane @ plane.T, G), relative(ours, G))


@rank_two.control("rank one is asked for with p other than 0", drops="zero-p")
def _(rng):
    corpus, model = instance(rng)
    return singular(autograd_gradients(model, corpus).E, 1)


@rank_two.control("the plane is spanned by v and a random vector")
def _(rng):
    corpus, model = instance(rng)
    G = autograd_gradients(model, corpus).E
    plane = np.linalg.qr(np.stack([model.v, rng.normal(size=6)], axis=1))[0]
    return relative(G @ plane @ plane.T, G)


def rational_document(rng, types=5, d=3):
    """Attention, values and embeddings of one document as fractions; e^z is any positive number, so it is one too."""
    fraction = np.vectorize(lambda k: Fraction(int(k), 7))
    weight = fraction(rng.integers(1, 30, types)) * rng.integers(1, 4, types)
    E, v = fraction(rng.integers(-9, 10, (types, d))), fraction(rng.integers(-9, 10, d))
    return weight / weight.sum(), E @ v, E


def covariance(A, gamma, E):
    """sum_s A_s (gamma_s - f) E_s by the definition."""
    return (A * (gamma - A @ gamma)) @ E


@claim(
    "prop-pairwise",
    "Each document's pull on p is a sum over pairs, and a sum over all types but one reference type.",
    source="proved here",
    rests=("thm-gradients",),
    kind="exact",
    tolerance=0,
    seeds=20,
)
def pairwise(rng):
    A, gamma, E = rational_document(rng)
    exact, f = covariance(A, gamma, E), A @ gamma
    by_pairs = sum(A[s] * A[t] * (gamma[s] - gamma[t]) * (E[s] - E[t]) for s, t in combinations(range(len(A)), 2))
    by_reference = [sum(A[u] * (f - gamma[u]) * (E[r] - E[u]) for u in range(len(A)) if u != r) for r in range(len(A))]
    return worst(np.abs(form - exact).max() for form in (by_pairs, *by_reference))


@pairwise.control("ordered pairs: each is counted twice")
def _(rng):
    A, gamma, E = rational_document(rng)
    pairs = [(s, t) for s in range(len(A)) for t in range(len(A))]
    by_pairs = sum(A[s] * A[t] * (gamma[s] - gamma[t]) * (E[s] - E[t]) for s, t in pairs)
    return np.abs(by_pairs - covariance(A, gamma, E)).max()


@pairwise.control("the value of the reference type in the place of f")
def _(rng):
    A, gamma, E = rational_document(rng)
    by_reference = sum(A[u] * (gamma[0] - gamma[u]) * (E[0] - E[u]) for u in range(1, len(A)))
    return np.abs(by_reference - covariance(A, gamma, E)).max()


def saturated(rng, R):
    """Three documents in which the best type leads the next by exactly R, with a second type of the best value in each;
    the selection problem and its p."""
    ahead = np.tile([1.0, 0.0, -0.5, 0.0], 3)
    keys = np.stack([ahead, rng.normal(size=12)], axis=1)
    values = rng.normal(size=12)
    values[3::4] = values[0::4]
    counts = np.kron(np.eye(3), [[1, 2, 1, 3]])
    return SelectionProblem(keys, values, counts, [1, -1, 1]), np.array([R, 0.0])


def exact_gradient(problem, p):
    """-grad L / |grad L| and log |grad L| by the definition, with digits enough for its cancellation."""
    with mp.workdps(40 + int(3 * np.abs(problem.keys @ p).max())):
        G = [mp.mpf(0)] * len(p)
        for counts, y in zip(problem.counts.toarray(), problem.labels):
            types = np.flatnonzero(counts)
            weights = [counts[s] * mp.exp(mp.fdot(problem.keys[s], p)) for s in types]
            A, gamma = [w / mp.fsum(weights) for w in weights], [mp.mpf(x) for x in problem.values[types]]
            f = mp.fdot(A, gamma)
            pull = [y / (1 + mp.exp(y * f)) * a * (g - f) / len(problem.labels) for a, g in zip(A, gamma)]
            G = [total + mp.fdot(pull, problem.keys[types, k]) for k, total in enumerate(G)]
        norm = mp.sqrt(mp.fsum(x**2 for x in G))
        return np.array([float(x / norm) for x in G]), float(mp.log(norm))


def off_direction(found, exact) -> float:
    """The distance of two directions, and of two log-norms relative to their size."""
    return worst(np.linalg.norm(found[0] - exact[0]), abs(found[1] / exact[1] - 1))


@claim(
    "prop-tail-weights",
    "The gradient in p is a sum of weights times differences, each weight a product with no positive exponent.",
    source="proved here",
    rests=("prop-pairwise", "prop-bag"),
    kind="numeric",
    tolerance=1e-12,
    seeds=3,
)
def tail_weights(rng):
    cases = [saturated(rng, R) for R in (0.0, 1.0, 30.0, 300.0, 1500.0)]
    found = [off_direction(problem.log_gradient(p), exact_gradient(problem, p)) for problem, p in cases]
    losses = [abs(problem.tail(p).loss() / problem.loss(p) - 1) for problem, p in cases]
    return worst(found + losses)


@tail_weights.control("the closed form in ordinary arithmetic, where the best type leads by 30")
def _(rng):
    problem, p = saturated(rng, 30.0)
    G = -problem.gradient(p)
    return off_direction((G / np.linalg.norm(G), np.log(np.linalg.norm(G))), exact_gradient(problem, p))


@tail_weights.control("the weights without delta, as if the best type had all the attention")
def _(rng):
    problem, p = saturated(rng, 1.0)
    weights = problem.tail(p)
    rows = np.repeat(np.arange(3), 4)
    gap = problem.values[weights.best][rows] - problem.values[problem.counts.indices]
    W = np.divide(weights.W * gap, gap - weights.delta[rows], out=np.zeros(12), where=gap != 0)
    G = W @ (problem.keys[weights.best][rows] - problem.keys[problem.counts.indices])
    norm = np.linalg.norm(G)
    return off_direction((G / norm, weights.top + np.log(norm)), exact_gradient(problem, p))


def drift(rng, trained=(1, 1, 1)) -> float:
    """How much E'E - vv' - pp' changes along the flow of the parameters that are trained, up to time 20."""
    corpus, model = instance(rng)
    size, d = model.E.shape

    def unpack(x):
        return x[: size * d].reshape(size, d), x[size * d : -d], x[-d:]

    def flow(t, x):
        return -np.concatenate([k * G.ravel() for k, G in zip(trained, Attention(*unpack(x)).gradients(corpus))])

    start = np.concatenate([model.E.ravel(), model.p, model.v])
    path = solve_ivp(flow, (0, 20), start, method="DOP853", rtol=1e-10, atol=1e-10)
    kept = [E.T @ E - np.outer(v, v) - np.outer(p, p) for E, p, v in map(unpack, path.y.T)]
    return worst(relative(matrix, kept[0]) for matrix in kept)


@claim(
    "prop-conserved",
    "E'E - vv' - pp' is constant along the joint gradient flow.",
    source="proved here",
    rests=("cor-rank-two", "thm-gradients"),
    assumes=("all-trained",),
    kind="numeric",
    tolerance=1e-9,
    seeds=3,
)
def conserved(rng):
    return drift(rng)


@conserved.control("v does not move", drops="all-trained")
def _(rng):
    return drift(rng, trained=(1, 1, 0))


@conserved.control("p does not move", drops="all-trained")
def _(rng):
    return drift(rng, trained=(1, 0, 1))


@conserved.control("p moves twice as fast")
def _(rng):
    return drift(rng, trained=(1, 2, 1))
