"""How often is the limit locally optimal: the random trials of paper B's Figures 9 and 10, all of a dimension at once.

A trial: n = 4 sequences of T = 6 tokens and a head v, uniform on the unit sphere of R^d, labels uniform in {-1, 1}.
p starts at 0 and takes 1000 steps of length 1 along g = -grad L/|grad L|. From 0 it never leaves the span of the 24
tokens, so each trial is turned into coordinates of that span: 24 numbers a token, whatever d. With s_iu = y_i gamma_u,
F_i = sum_u A_iu s_iu and r the best-scoring token of sequence i, as in tail.py,

    -grad L = sum_{i, u != r} W_iu (k_ir - k_iu),    W_iu = (1/n) sigmoid(-F_i) A_iu (F_i - s_iu),

with every weight kept as a logarithm, so that nothing underflows.
"""

import json
import time
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version

import numpy as np

from .explain import RESULTS
from .flow import gradient_flow
from .margin import max_margin
from .optimality import neighbours, selected
from .problem import SelectionProblem
from .results import replace

N, T = 4, 6
DIMENSIONS = (2, 5, 10, 100, 300, 500)
STEPS, RATE, SATURATED = 1000, 1.0, 1 - 1e-5
CLASSES = {"G": "global", "L": "local", "N": "not locally optimal", "U": "not saturated"}


@dataclass(frozen=True)
class Outcome:
    """What a trial ended as: a letter of `CLASSES`; the mean attention on the selected tokens; and, if that is
    saturated, the cosine of p with the max-margin direction of the selection and the least label-score gap between a
    selected token and its neighbours."""

    kind: str
    attention: float
    cosine: float | None = None
    gap: float | None = None


def draw(d: int, trial: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tokens X (4, 6, d), labels (4,) and head v (d,) of a trial, from the seed (d, trial)."""
    rng = np.random.default_rng((d, trial))
    directions = rng.standard_normal((N * T + 1, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions[:-1].reshape(N, T, d), rng.choice([-1.0, 1.0], N), directions[-1]


def problem(d: int, trial: int) -> SelectionProblem:
    """The trial in coordinates of the span of its tokens: keys (24, min(d, 24)), scores and norms as in R^d."""
    X, y, v = draw(d, trial)
    keys = X.reshape(N * T, d)
    if d > N * T:
        keys = np.linalg.qr(keys.T, mode="r").T
    counts = np.kron(np.eye(N), np.ones(T))
    return SelectionProblem(keys, X.reshape(N * T, d) @ v, counts, y)


def descend_together(problems, start=None, steps: int = STEPS, rate: float = RATE) -> np.ndarray:
    """The last point of normalised descent on each of the problems, from 0 or the rows of `start`: (trials, k).

    As `descend` on each, for problems of one shape whose sequences have no two tokens of one value.
    """
    K = np.array([problem.keys for problem in problems])
    s = np.array([problem.labels[:, None] * problem.values.reshape(N, T) for problem in problems])
    p = np.zeros((len(K), K.shape[2])) if start is None else np.array(start)
    for _ in range(steps):
        G = gradients(K, s, p)
        p += rate * G / np.linalg.norm(G, axis=1, keepdims=True)
    return p


def gradients(K, s, p) -> np.ndarray:
    """-grad L at p (trials, k), each up to a positive factor; keys K (trials, 24, k), label-scores s (trials, 4, 6)."""
    z = (K @ p[..., None])[..., 0].reshape(s.shape)
    best = z.argmax(axis=2)[..., None]
    log_A = z - np.take_along_axis(z, best, 2)
    log_A -= np.log(np.exp(log_A).sum(axis=2, keepdims=True))
    gap = np.take_along_axis(s, best, 2) - s
    delta = (np.exp(log_A) * gap).sum(axis=2, keepdims=True)
    log_w = log_A - np.logaddexp(0, np.take_along_axis(s, best, 2) - delta)
    np.put_along_axis(log_w, best, -np.inf, 2)
    W = np.exp(log_w - log_w.max(axis=(1, 2), keepdims=True)) * (gap - delta)
    omega = -W
    np.put_along_axis(omega, best, W.sum(axis=2, keepdims=True), 2)
    return (omega.reshape(len(K), 1, -1) @ K)[:, 0]


def outcome(problem: SelectionProblem, p) -> Outcome:
    """Definition 2 of paper B applied to the tokens that p selects; their max-margin problem comes with certificate.

    A saturated p ranks its tokens strictly first, so their max-margin problem has a solution.
    """
    attention = float(np.exp(problem.tail(p).log_A).reshape(N, T).max(axis=1).mean())
    if attention < SATURATED:
        return Outcome("U", attention)
    chosen = selected(problem, p)
    solution = max_margin(problem, chosen, solver="NNLS")
    if solution.certificate().worst > 1e-8:
        raise RuntimeError(f"the max-margin solution is not certified: {solution.certificate()}")
    s = np.repeat(problem.labels, T) * problem.values
    touching = neighbours(problem, chosen, solution)
    gap = min(s[c] - s[others].max(initial=-np.inf) for c, others in zip(chosen, touching))
    best = (s[chosen] == s.reshape(N, T).max(axis=1)).all()
    kind = "N" if gap <= 0 else "G" if best else "L"
    return Outcome(kind, attention, float(p @ solution.p / np.linalg.norm(p) * solution.margin), float(gap))


def run(d: int, trials, start: float = 0.0) -> list[Outcome]:
    """The outcomes of the trials of dimension d, from p = 0 or, with `start`, from a random p of that length."""
    problems = [problem(d, trial) for trial in trials]
    return [outcome(x, p) for x, p in zip(problems, ends(d, trials, problems, start))]


def ends(d: int, trials, problems, start: float = 0.0) -> np.ndarray:
    """Where the descent of each trial stops: (trials, k)."""
    seeds = [np.random.default_rng((d, trial, 1)) for trial in trials]
    begin = np.array([rng.standard_normal(min(d, N * T)) for rng in seeds])
    return descend_together(problems, start * begin / np.linalg.norm(begin, axis=1, keepdims=True))


def decide(problem: SelectionProblem, p, length: float = 1e5) -> str:
    """What becomes of a run that stopped at p, by gradient flow from there: a letter of `CLASSES` if the flow goes on
    to `length`, "rest" if it ends in a point with grad L = 0, "balance" if it ends where the forces of the sequences
    cancel to rounding."""
    orbit = gradient_flow(problem, p, length)
    return {"stationary": "rest", "balanced": "balance"}.get(orbit.ended) or outcome(problem, orbit.points[-1]).kind


def study(trials: int = 1000, dimensions=DIMENSIONS) -> dict:
    """All trials of all dimensions, from 0 and from a random start of length 1; what gradient flow makes of each that
    is not saturated or not locally optimal; and where the numbers come from."""
    begin, found = time.perf_counter(), {}
    for d in dimensions:
        problems = [problem(d, trial) for trial in range(trials)]
        points = ends(d, range(trials), problems)
        outcomes = [outcome(x, p) for x, p in zip(problems, points)]
        fates = [(o.kind, decide(x, p)) for o, x, p in zip(outcomes, problems, points) if o.kind in "NU"]
        found[str(d)] = {
            "kinds": "".join(o.kind for o in outcomes),
            "random start": "".join(o.kind for o in run(d, range(trials), start=1.0)),
            "fates": {kind: dict(Counter(fate for k, fate in fates if k == kind)) for kind in "NU"},
            "1 - cosine": [o.cosine and float(f"{1 - o.cosine:.3g}") for o in outcomes],
            "gap": [o.gap and float(f"{min(o.gap, 9):.4g}") for o in outcomes],  # 9 stands for no neighbour at all
        }
    provenance = {
        "date": datetime.now(UTC).date().isoformat(),
        "seconds": round(time.perf_counter() - begin, 1),
        "seeds": f"(d, trial) for trial in 0..{trials - 1}",
        "versions": {name: version(name) for name in ("numpy", "scipy")},
    }
    return {"provenance": provenance, "trials": found}


def stored() -> dict:
    """The study that came with the book."""
    return json.loads((RESULTS / "trials.json").read_text())


def store(found: dict) -> None:
    """Write the study, each list on one line."""
    lines = [f' "{d}": ' + json.dumps(trials) for d, trials in found["trials"].items()]
    body = ",\n".join(lines)
    text = f'{{"provenance": {json.dumps(found["provenance"])},\n"trials": {{\n{body}\n}}}}\n'
    replace(RESULTS / "trials.json", text.encode())


def summary(found: dict) -> list[str]:
    """One line a dimension."""
    lines = []
    for d, trials in found["trials"].items():
        counts = Counter(trials["kinds"])
        lines.append(f"d = {d}: " + ", ".join(f"{counts[kind]} {name}" for kind, name in CLASSES.items()))
    return lines
