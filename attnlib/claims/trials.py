"""Chapter "How often is the limit locally optimal"."""

import numpy as np
import torch

from ..descent import descend
from ..margin import max_margin
from ..optimality import selected
from ..problem import SelectionProblem
from . import claim


@claim(
    "prop-saturation",
    "Mean attention 1 - e on one token of each of n documents proves a margin of at least log((1 - ne)/(ne)) / |p|.",
    source="proved here",
    rests=("def-max-margin",),
    kind="certified",
    tolerance=1e-9,
    seeds=20,
)
def saturation(rng):
    return shortfall(rng, factor=1.0)


@saturation.control("twice the bound")
def _(rng):
    return shortfall(rng, factor=2.0)


def shortfall(rng, factor):
    """How far the certified margin stays below the bound, relative to it, for a p not far from the max-margin direction
    of what it selects; attention by PyTorch."""
    X = rng.normal(size=(4, 6, 12))
    problem = SelectionProblem.from_sequences(X, [1, 1, 1, 1], np.ones(12))
    p = max_margin(problem, selected(problem, rng.normal(size=12))).p
    p = rng.uniform(12, 16) * p + 0.1 * rng.normal(size=12)
    A = torch.softmax(torch.tensor(X @ p), dim=1).numpy()
    off = 4 * (1 - A.max(axis=1).mean())
    solution = max_margin(problem, 6 * np.arange(4) + A.argmax(axis=1))
    if solution.certificate().worst > 1e-9:
        return np.inf
    bound = factor * np.log((1 - off) / off) / np.linalg.norm(p)
    return max(0.0, 1 - solution.margin / bound)


@claim(
    "thm-orthonormal",
    "Orthonormal tokens, p from 0: the best token of each document leads from the first step on, at any step size.",
    source="proved here",
    rests=("thm-gradients",),
    assumes=("orthonormal", "zero-p"),
    kind="numeric",
    tolerance=1e-9,
    seeds=10,
)
def orthonormal(rng):
    return max(
        lost_lead(rng, rate, rule) for rate, rule in ((1.0, "normalized"), (30.0, "normalized"), (500.0, "plain"))
    )


@orthonormal.control("the tokens are not orthogonal", drops="orthonormal")
def _(rng):
    return max(lost_lead(rng, 1.0, "normalized", d=3) for _ in range(5))


@orthonormal.control("p starts elsewhere", drops="zero-p")
def _(rng):
    return lost_lead(rng, 1.0, "normalized", start=3.0)


def lost_lead(rng, rate, rule, d=30, start=0.0):
    """By how much a lead of the best token over another shrinks in a step, over 100 steps, at most."""
    X = np.linalg.qr(rng.normal(size=(d, 24)))[0].T if d >= 24 else rng.normal(size=(24, d))
    y, v = rng.choice([-1.0, 1.0], 4), rng.normal(size=d)
    problem = SelectionProblem.from_sequences(X.reshape(4, 6, d), y, v)
    points = descend(problem, start * rng.normal(size=d), 100, rate, rule)
    z, s = (points @ X.T).reshape(101, 4, 6), y[:, None] * (X @ v).reshape(4, 6)
    lead = np.take_along_axis(z, s.argmax(axis=1)[None, :, None], 2) - z
    return max(0.0, -np.diff(lead, axis=0).min())
