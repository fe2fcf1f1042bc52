"""Angle to the max-margin direction against seconds: the flow, a float32 loop as public code writes it, and the same
1000 steps of 0.1 in the log domain, to tell what is arithmetic and what is distance travelled."""

import time

import numpy as np
import torch

from attnlib import Infeasible, SelectionProblem, descend, gradient_flow, is_locally_optimal, max_margin, selected
from attnlib.margin import angle


def gaussian(n, T, d, seed):
    rng = np.random.default_rng(seed)
    X, v, y = rng.standard_normal((n, T, d)), rng.standard_normal(d), rng.choice([-1.0, 1.0], n)
    return X, y, v


class OneLayer(torch.nn.Module):
    """One attention layer with a learned p."""

    def __init__(self, v):
        super().__init__()
        self.p, self.v = torch.nn.Parameter(torch.zeros(len(v))), v

    def forward(self, X):
        attention = torch.softmax(X @ self.p, dim=1)
        return (attention.unsqueeze(-1) * X).sum(dim=1) @ self.v


def normalised_sgd(X, y, v, steps=1000, rate=0.1):
    """p after 1000 steps in float32: autograd, gradient / (norm + 1e-9), loss log(1 + exp(-u))."""
    X, y, v = (torch.tensor(x, dtype=torch.float32) for x in (X, y, v))
    model = OneLayer(v)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for _ in range(steps):
        optimizer.zero_grad()
        torch.log(1 + torch.exp(-y * model(X))).mean().backward()
        model.p.grad /= model.p.grad.norm() + 1e-9
        optimizer.step()
    return model.p.detach().numpy().astype(float)


def distance(problem, p, direction):
    """The angle to the max-margin direction of what p selects, and that solution."""
    try:
        solution = max_margin(problem, selected(problem, p))
    except Infeasible:
        return np.nan, None
    return angle(direction, solution.p), solution


def compare(shape, seeds, length):
    print(f"\nn={shape[0]}, T={shape[1]}, d={shape[2]}; angles in rad, flow of arc length {length:g}")
    print("seed   flow: tangent   point   seconds  certified  strict  local", end="   ")
    print("float32 loop: angle  seconds   log domain: angle")
    tangents, seconds = [], []
    for seed in range(seeds):
        X, y, v = gaussian(*shape, seed)
        problem = SelectionProblem.from_sequences(X, y, v)
        t0 = time.perf_counter()
        orbit = gradient_flow(problem, length=length)
        t1 = time.perf_counter()
        p32 = normalised_sgd(X, y, v)
        t2 = time.perf_counter()
        tangent, solution = distance(problem, orbit.points[-1], orbit.tangents[-1])
        point, _ = distance(problem, orbit.points[-1], orbit.points[-1])
        loop, _ = distance(problem, p32, p32)
        end = descend(problem, np.zeros(shape[2]), steps=1000, rate=0.1)[-1]
        exact, _ = distance(problem, end, end)
        tangents.append(tangent)
        seconds.append(t1 - t0)
        residual, strict, local = np.nan, None, None
        if solution is not None:
            residual, strict = solution.certificate().worst, solution.strictly_complementary
            local = is_locally_optimal(problem, selected(problem, orbit.points[-1]), solution)
        print(
            f"{seed:4d} {tangent:15.1e} {point:7.0e} {t1 - t0:9.2f} {residual:10.0e} {strict!s:>7} {local!s:>6}"
            f" {loop:22.1e} {t2 - t1:8.2f} {exact:19.1e}"
        )
    print(f"worst angle {np.max(tangents):.1e}, slowest {max(seconds):.2f} s, median {np.median(seconds):.2f} s")


if __name__ == "__main__":
    torch.set_num_threads(1)
    compare((6, 8, 10), seeds=20, length=1e5)
    compare((50, 20, 200), seeds=20, length=1e5)
