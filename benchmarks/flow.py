"""Seconds until p points within a given angle of its max-margin direction: the flow in arc length, and descent in
float32 with normalised gradients as public code writes it, or "never"."""

import time

import numpy as np
import torch

from attnlib import Infeasible, SelectionProblem, gradient_flow, max_margin, selected
from attnlib.margin import angle

SHAPES = ((6, 8, 10), (50, 20, 200))
ANGLES = (1e-2, 1e-4, 1e-8)
LENGTHS = (1e2, 1e3, 1e4, 1e5, 1e6)
STEPS, RATE, LOOK = 5_000, 0.1, 50


class OneLayer(torch.nn.Module):
    """One attention layer with a learned p."""

    def __init__(self, v):
        super().__init__()
        self.p, self.v = torch.nn.Parameter(torch.zeros(len(v))), v

    def forward(self, X):
        attention = torch.softmax(X @ self.p, dim=1)
        return (attention.unsqueeze(-1) * X).sum(dim=1) @ self.v


def gaussian(n, T, d, seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, T, d)), rng.choice([-1.0, 1.0], n), rng.standard_normal(d)


def off(problem, p, direction) -> float:
    """The angle to the max-margin direction of what p selects; infinite if that cannot be separated."""
    try:
        return angle(direction, max_margin(problem, selected(problem, p), solver="NNLS").p)
    except Infeasible:
        return np.inf


def by_flow(problem) -> dict[float, float]:
    """Seconds for each angle: those of the shortest arc length, of a few tried, that reaches it."""
    reached = {}
    for length in LENGTHS:
        begun = time.perf_counter()
        orbit = gradient_flow(problem, length=length)
        seconds = time.perf_counter() - begun
        found = off(problem, orbit.points[-1], orbit.tangents[-1])
        reached = {wanted: seconds for wanted in ANGLES if found <= wanted} | reached
        if len(reached) == len(ANGLES):
            break
    return reached


def by_float32(problem, X, y, v) -> dict[float, float]:
    """Seconds for each angle along 5,000 steps of SGD on gradient / (norm + 1e-9), loss log(1 + exp(-u)); only the
    steps are timed, not the looks."""
    X, y, v = (torch.tensor(x, dtype=torch.float32) for x in (X, y, v))
    model = OneLayer(v)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    reached, seconds = {}, 0.0
    for _ in range(STEPS // LOOK):
        begun = time.perf_counter()
        for _ in range(LOOK):
            optimizer.zero_grad()
            torch.log(1 + torch.exp(-y * model(X))).mean().backward()
            model.p.grad /= model.p.grad.norm() + 1e-9
            optimizer.step()
        seconds += time.perf_counter() - begun
        p = model.p.detach().numpy().astype(float)
        if not np.isfinite(p).all():
            break
        found = off(problem, p, p)
        reached = {wanted: seconds for wanted in ANGLES if found <= wanted} | reached
        if len(reached) == len(ANGLES):
            break
    return reached


def measure(shapes=SHAPES, seeds: int = 5) -> dict:
    torch.set_num_threads(1)
    rows = []
    for shape in shapes:
        flow, loop = [], []
        for seed in range(seeds):
            X, y, v = gaussian(*shape, seed)
            problem = SelectionProblem.from_sequences(X, y, v)
            flow.append(by_flow(problem))
            loop.append(by_float32(problem, X, y, v))
        for wanted in ANGLES:
            row = {"shape": list(shape), "angle": wanted, "problems": seeds}
            for name, runs in (("flow", flow), ("float32", loop)):
                seconds = [run[wanted] for run in runs if wanted in run]
                row[name] = {
                    "reached": len(seconds),
                    "median seconds": round(float(np.median(seconds)), 3) if seconds else None,
                }
            rows.append(row)
            print(row, flush=True)
    return {"steps of float32": STEPS, "rate": RATE, "rows": rows}
