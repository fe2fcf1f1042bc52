"""Chapter "What floating point does to all this"."""

import numpy as np
import torch

from ..arithmetic import last_trusted, usual_loop
from ..margin import angle
from ..problem import SelectionProblem
from . import claim


def single(rng):
    """One document of four tokens, the first the best."""
    X, v = rng.normal(size=(1, 4, 3)), rng.normal(size=3)
    X = X[:, np.argsort(-(X[0] @ v))]
    return X, v, SelectionProblem.from_sequences(X, [1], v)


def trusted_steps(rng, factor=1.0, eps=1e-6, theta=0.01):
    """Trusted steps of a float64 run against the first with |G| < factor eps (1/theta - 1), as a number of steps."""
    X, v, problem = single(rng)
    P = usual_loop(X, [1], np.zeros(3), v, steps=600, rate=0.2, eps=(eps, eps), dtype="float64").p
    directions, log_norms = problem.log_gradient(P)
    low = log_norms < np.log(factor * eps * (1 / theta - 1))
    return abs(last_trusted(P, directions, 0.2, theta) - int(low.argmax() if low.any() else 600))


@claim(
    "prop-epsilon",
    "A step G/(|G| + eps) is within a share theta of the normalised one exactly while |G| >= eps (1/theta - 1).",
    source="proved here",
    kind="numeric",
    tolerance=0,
    seeds=5,
)
def epsilon(rng):
    return trusted_steps(rng)


@epsilon.control("the bound is ten times too small")
def _(rng):
    return trusted_steps(rng, factor=0.1)


def computed_gradient(rng, lead):
    """The angle between the float32 gradient, where the first token leads by `lead`, and -sum W_iu K_u."""
    X, v, problem = single(rng)
    towards = np.linalg.lstsq(X[0, :1] - X[0, 1:], np.ones(3))[0]
    p = lead * towards
    X32, p32, v32 = (torch.tensor(x, dtype=torch.float32) for x in (X, p, v))
    p32.requires_grad_()
    f = (torch.softmax(X32 @ p32, dim=1).unsqueeze(-1) * X32).sum(dim=1) @ v32
    computed = -torch.autograd.grad(torch.log(1 + torch.exp(-f)).mean(), p32)[0].double().numpy()
    return angle(computed, -np.bincount(problem.counts.indices, problem.tail(p).W, 4) @ problem.keys)


@claim(
    "prop-lost-reference",
    "Once f rounds to the selected value, the computed gradient is -sum W_iu E_u: the selected key is forgotten.",
    source="proved here",
    rests=("prop-pairwise",),
    assumes=("saturated",),
    kind="numeric",
    tolerance=1e-3,
    seeds=5,
)
def lost_reference(rng):
    return computed_gradient(rng, lead=30.0)


@lost_reference.control("the selected token leads by 3 only, and f keeps its digits", drops="saturated")
def _(rng):
    return computed_gradient(rng, lead=3.0)
