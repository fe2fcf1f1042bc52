"""The usual training loop in ordinary floats, and how far its iterates can be trusted.

The loop is the one of most code: a softmax layer in PyTorch, the loss as it is printed, gradients by backpropagation,
divided by their norm plus a small eps. What each of these costs, and when: chapter "What floating point does".
"""

from typing import NamedTuple

import numpy as np
import torch

from .losses import LOGISTIC, Loss

AS_PRINTED = {
    "logistic": lambda u: torch.log(1 + torch.exp(-u)),
    "exponential": lambda u: torch.exp(-u),
    "correlation": lambda u: -u,
}


class Iterates(NamedTuple):
    """p (steps + 1, k) and v (steps + 1, d), widened to float64."""

    p: np.ndarray
    v: np.ndarray


def usual_loop(
    X, labels, p, v, W=None, joint=False, steps=1000, rate=0.1, eps=(1e-9, 1e-9), ell: Loss = LOGISTIC, dtype="float32"
) -> Iterates:
    """Normalised descent on p, and with `joint` on v too, on sequences X (n, T, d) with keys X W': g / (|g| + eps).

    `eps` is that of p and that of v; `dtype` is "float32" or "float64". The sum 1 + e^{-u} and the softmax are taken as
    they stand, because that is what is studied.
    """
    if dtype not in ("float32", "float64"):
        raise ValueError(f"dtype is {dtype!r}, but 'float32' or 'float64' is needed")
    kind = getattr(torch, dtype)
    X, y, p, v = (torch.tensor(np.asarray(x, dtype=float), dtype=kind) for x in (X, labels, p, v))
    keys = X if W is None else X @ torch.tensor(np.asarray(W, dtype=float), dtype=kind).T
    parameters, points = [p, v], [(p, v)]
    for _ in range(steps):
        p, v = parameters = [x.detach().requires_grad_() for x in parameters]
        features = (torch.softmax(keys @ p, dim=1).unsqueeze(-1) * X).sum(dim=1)
        gradients = torch.autograd.grad(AS_PRINTED[ell.name](y * (features @ v)).mean(), parameters)
        trained = [True, joint]
        parameters = [
            x - rate * g / (g.norm() + e) if moves else x for x, g, e, moves in zip(parameters, gradients, eps, trained)
        ]
        points.append([x.detach() for x in parameters])
    return Iterates(*(torch.stack(list(x)).double().numpy() for x in zip(*points)))


def last_trusted(points, directions, rate: float, tolerance: float = 0.01) -> int:
    """How many steps from the start follow the normalised rule: |(p_{k+1} - p_k) / rate - g_k| <= tolerance for each.

    points (steps + 1, d) as computed; directions (steps, d) or more, the exact unit vectors -grad L/|grad L| at these
    same points. Steps are judged one by one, where they were taken: an orbit that has drifted but still obeys the rule
    is trusted, one that has stopped or turned is not.
    """
    points, directions = (np.asarray(x, dtype=float) for x in (points, directions))
    if points.ndim != 2 or len(directions) < len(points) - 1 or directions.shape[1:] != points.shape[1:]:
        raise ValueError(f"points {points.shape} need one direction a step, but directions has {directions.shape}")
    steps = np.diff(points, axis=0) / rate
    wrong = ~(np.linalg.norm(steps - directions[: len(steps)], axis=1) <= tolerance)  # a NaN is wrong
    return int(wrong.argmax()) if wrong.any() else len(steps)
