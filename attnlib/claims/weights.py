"""Chapter "From p to W"."""

import cvxpy as cp
import mpmath
import numpy as np
import torch

from ..margin import max_margin
from ..optimality import optimal_tokens
from ..problem import SelectionProblem
from . import claim
from .residuals import worst as largest


def equivalence(rng, matched=True, scaled=True, steps=300) -> float:
    """The largest entry of W_t - u p_t'/|u|^2 and of W_t' u - p_t: W by automatic differentiation, p by the library."""
    n, T, d, k = 5, 6, 4, 3
    X, v, y = rng.normal(size=(n, T, d)), rng.normal(size=d), rng.choice([-1.0, 1.0], n)
    u, p = rng.normal(size=k) + 1, rng.normal(size=d)
    problem = SelectionProblem.from_sequences(X, y, v)
    W = torch.tensor(np.outer(u, p) / (u @ u) if matched else rng.normal(size=(k, d)), requires_grad=True)
    X_, v_, y_, u_ = map(torch.tensor, (X, v, y, u))
    worst = 0.0
    for eta in rng.uniform(0.1, 2.0, steps):
        f = torch.einsum("nt,ntd,d->n", torch.softmax(X_ @ W.T @ u_, dim=1), X_, v_)
        (slope,) = torch.autograd.grad(torch.nn.functional.softplus(-y_ * f).mean(), W)
        W = (W - (eta / (u @ u) if scaled else eta) * slope).detach().requires_grad_()
        p = p - eta * problem.gradient(p)
        worst = largest(worst, np.abs(W.detach().numpy() - np.outer(u, p) / (u @ u)).max())
    return float(worst)


@claim(
    "lem-p-w",
    "Descent on W with query u is descent on p = W'u, step by step, with steps divided by |u|^2.",
    source="paper B Lemma 1; any start and any steps are ours",
    assumes=("matched-start", "scaled-step"),
    kind="numeric",
    tolerance=1e-12,
    seeds=3,
)
def training_w(rng):
    return equivalence(rng)


@training_w.control("W starts at random", drops="matched-start")
def _(rng):
    return equivalence(rng, matched=False)


@training_w.control("W takes the steps of p", drops="scaled-step")
def _(rng):
    return equivalence(rng, scaled=False)


def frobenius(rng, power) -> float:
    """The relative distance of the shortest W, by cvxpy, from u p^'/|u|^power."""
    X, u = rng.normal(size=(4, 3, 5)), 2 * rng.normal(size=3)
    problem = SelectionProblem.from_sequences(X, np.ones(4), rng.normal(size=5))
    solution = max_margin(problem, optimal_tokens(problem))
    s, other = solution.constraints.T
    W = cp.Variable((3, 5))
    asks = [(problem.keys[s] - problem.keys[other]) @ (W.T @ u) >= 1]
    cp.Problem(cp.Minimize(cp.sum_squares(W)), asks).solve(solver="CLARABEL")
    expected = np.outer(u, solution.p) / np.linalg.norm(u) ** power
    return float(np.abs(W.value - expected).max() / np.abs(expected).max())


@claim(
    "prop-w-margin",
    "The shortest W, in Frobenius norm, that ranks a selection first with query u is u p^'/|u|^2.",
    source="proved here",
    rests=("thm-nearest",),
    kind="numeric",
    tolerance=1e-5,
    seeds=5,
)
def margin_of_w(rng):
    return frobenius(rng, power=2)


@margin_of_w.control("divided by |u| instead of |u|^2")
def _(rng):
    return frobenius(rng, power=1)


def slope_in_digits(K, gamma, p, q) -> float:
    """The slope of f at p in direction q, by a central difference in 60 digits."""
    with mpmath.workdps(60):
        K, q, p = mpmath.matrix(K.tolist()), mpmath.matrix(q.tolist()), mpmath.matrix(p.tolist())

        def f(h):
            e = [mpmath.exp(z) for z in K * (p + h * q)]
            return mpmath.fdot(e, gamma.tolist()) / sum(e)

        h = mpmath.mpf(10) ** -20
        return float((f(h) - f(-h)) / (2 * h))


def key_residual(rng, product=1.0, constant=1.0) -> float:
    """The identity's residual and the violation of the bound, relative to the bound, over random documents; among them
    one with two tokens, which attains it."""
    worst = 0.0
    for k in range(12):
        T = 2 if k == 0 else 5
        K, gamma, q = rng.normal(size=(T, 3)), rng.normal(size=T), rng.normal(size=3)
        p = K[0] * 10 ** rng.uniform(-1, 0.3)
        A = np.exp(K @ p - (K @ p).max())
        A /= A.sum()
        b, c = (K[0] - K) @ q, gamma[0] - gamma
        bound = np.abs(b).max() * np.abs(c).max() * A[1:].sum() ** 2
        slope = slope_in_digits(K, gamma, p, q)
        worst = largest(worst, abs(slope - ((A * b) @ c - product * (A @ b) * (A @ c))) / bound)
        worst = largest(worst, abs(slope - (A * b) @ c) / bound - constant)
    return float(worst)


@claim(
    "lem-key",
    "The slope of f is a sum over pairs minus a product of two sums, at most B Gamma (1 - A_s)^2, attained.",
    source="paper B Lemma 3 with an identity; the sharp constants are ours",
    rests=("prop-pairwise",),
    kind="numeric",
    tolerance=1e-9,
    seeds=3,
)
def key(rng):
    return key_residual(rng)


@key.control("the product of sums is left out")
def _(rng):
    return key_residual(rng, product=0.0)


@key.control("a constant one per cent smaller")
def _(rng):
    return key_residual(rng, constant=0.99)
