"""The random trials of paper B's Figures 9 and 10: all of a dimension at once, a loop of `descend`, and a loop of
autograd in float32, one trial after the other."""

import numpy as np
import torch
from bench import in_turn, ratio, spread
from flow import OneLayer

from attnlib import descend, trials

D, STEPS, RATE = 100, 1000, 1.0


def autograd_loop(k: int) -> np.ndarray:
    """The end of trial k in d dimensions, as public code would run it."""
    X, y, v = (torch.tensor(x, dtype=torch.float32) for x in trials.draw(D, k))
    model = OneLayer(v)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for _ in range(STEPS):
        optimizer.zero_grad()
        torch.log(1 + torch.exp(-y * model(X))).mean().backward()
        model.p.grad /= model.p.grad.norm() + 1e-9
        optimizer.step()
    return model.p.detach().numpy()


def measure(together: int = 200, alone: int = 5, rounds: int = 3) -> dict:
    torch.set_num_threads(1)
    problems = [trials.problem(D, k) for k in range(together)]
    zero = np.zeros(problems[0].keys.shape[1])
    seconds = in_turn(
        {
            "together": lambda: trials.descend_together(problems),
            "descend": lambda: [descend(problem, zero, STEPS, RATE) for problem in problems[:alone]],
            "autograd": lambda: [autograd_loop(k) for k in range(alone)],
        },
        rounds,
        warm=0,
    )
    each = {name: np.array(times) / (together if name == "together" else alone) for name, times in seconds.items()}
    ends = trials.descend_together(problems[:alone])
    looped = np.array([descend(problem, zero, STEPS, RATE)[-1] for problem in problems[:alone]])
    return {
        "d": D,
        "steps": STEPS,
        "trials together": together,
        "milliseconds a trial": {name: spread(times) for name, times in each.items()},
        "ratios": {f"{name} / together": ratio(each[name], each["together"]) for name in ("descend", "autograd")},
        "relative difference of the ends": float(np.abs(ends - looped).max() / np.abs(looped).max()),
    }
