"""Gradient flow on p, followed along its orbit to any length.

The flow dp/dt = -grad L(p) slows down exponentially as |p| grows. Its orbit does not: in arc length tau,

    dp/dtau = g(p) = -grad L / |grad L|,     dg/dp = (I - g g') (-hess L) / |grad L|,     dt = dtau / |grad L|,

and all three are computed in the log domain (tail.py). A stiff solver takes long steps where the tangent has settled,
so an orbit of length 10,000 costs little more than one of length 100. Theorems: chapter "Gradient flow on p".
"""

from bisect import bisect_left
from dataclasses import dataclass, field

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.integrate import BDF, LSODA, Radau

from .problem import SelectionProblem
from .threads import blas

LOST = 1e-6  # rounding error of the tangent at which an orbit is given up
STEP = 2.0  # the longest step near the origin, in units of a score
METHODS = {"LSODA": LSODA, "BDF": BDF, "Radau": Radau}


@dataclass(frozen=True, eq=False)
class Orbit:
    """The orbit at the steps of the solver, from the start to the end, which is the last row of everything.

    `ended` says why it ended: "length" (all of it); "settled" (the tangent, by the rule asked for); "stationary" (the
    flow runs into a point with grad L = 0 after finite arc length, in infinite time); or "balanced" (documents with
    divided attention pull against each other until rounding exceeds `LOST` of what is left: the flow goes on, unseen).
    """

    arclength: np.ndarray  # (k,) tau
    points: np.ndarray = field(repr=False)  # (k, d) p
    tangents: np.ndarray = field(repr=False)  # (k, d) g(p), of length 1
    log_time: np.ndarray = field(repr=False)  # (k,) log t, from -inf at the start
    loss: np.ndarray = field(repr=False)  # (k,) L(p)
    ended: str = "length"


def gradient_flow(
    problem: SelectionProblem,
    start=None,
    length: float = 1000.0,
    settled: float | None = None,
    method: str = "LSODA",
    tolerance: float = 1e-7,
) -> Orbit:
    """The orbit of gradient flow from `start`, or from 0, over an arc length of `length`.

    With `settled`, stop as soon as the tangent of the last half of the arc length, at every step, is within `settled`
    radians of the present one while |grad L| fell by a factor of e^20 or more. An error that falls like 1/tau or faster
    is then at most about `settled`; a flow that lingers near one selection for that long before it leaves for another
    is stopped too early, which no rule that looks back can exclude.

    `tolerance` is the local error allowed in a score; `method` is "LSODA", "BDF" or "Radau" of scipy.

    >>> problem = SelectionProblem.from_sequences([[[4.0, 0.0], [0.0, 0.0], [4.0, -3.0]]], labels=[1], v=[1.0, 1.0])
    >>> orbit = gradient_flow(problem, length=1e4)
    >>> orbit.tangents[-1].round(9).tolist()       # the max-margin direction of token 0
    [0.6, 0.8]
    """
    if method not in METHODS:
        raise ValueError(f"method is {method!r}, but one of {', '.join(METHODS)} is needed")
    if not (np.isfinite(length) and length > 0):
        raise ValueError(f"length is {length}, but a positive arc length is needed")
    for name, value in (("tolerance", tolerance), ("settled", settled)):
        if value is not None and not 0 < value < np.inf:
            raise ValueError(f"{name} is {value}, but a positive number is needed")
    p = np.zeros(problem.keys.shape[1]) if start is None else problem.check_point(start)
    size = np.linalg.norm(problem.keys, axis=1).max() or 1.0
    close = tolerance / size
    arclength, points, middles, looks, ended = [0.0], [p], [], [problem.log_gradient(p)], "length"

    def begin(tau, p):
        return METHODS[method](
            lambda tau, p: problem.direction(p), tau, p, length,
            jac=lambda tau, p: turning(problem, p), rtol=1e-13, atol=close,
        )  # fmt: skip

    with blas().limit(limits=1):  # small matrices: threads would wait for each other longer than they compute
        solver, longest = begin(0.0, p), np.inf
        while solver.t < length and ended == "length":
            reach = max(longest, STEP / size)
            solver.t_bound, solver.status = min(length, solver.t + reach), "running"
            message = solver.step()
            if solver.status == "failed":
                raise RuntimeError(f"the solver stopped at arc length {solver.t}: {message}")
            if solver.step_size > STEP / size and not _follows(problem, solver, points[-1], STEP / size):
                solver, longest = begin(arclength[-1], points[-1]), solver.step_size / 4
                continue
            longest *= 2
            middles.append(solver.dense_output()((solver.t_old + solver.t) / 2))
            arclength.append(solver.t)
            points.append(solver.y)
            if solver.step_size < 1e-3 * solver.t and _rounding(problem, solver.y) > LOST:
                ended = "balanced"
            elif solver.step_size < 100 * close and np.linalg.norm(_newton_step(problem, solver.y)) < 10 * close:
                ended = "stationary"
            elif settled is not None:
                looks.append(problem.log_gradient(solver.y))
                if _has_settled(arclength, looks, settled):
                    ended = "settled"
    arclength, points = np.array(arclength), np.array(points)
    tangents, log_norms, loss = _along(problem, points)
    log_time = log_times(arclength, log_norms, _along(problem, np.array(middles))[1])
    return Orbit(arclength, points, tangents, log_time, loss, ended)


def _along(problem, points):
    """Tangent, log |grad L| and loss at many points, some megabytes at a time."""
    parts = np.array_split(points, 1 + len(points) * problem.counts.nnz // 10**6)
    looks = [(*problem.log_gradient(part), problem.tail(part).loss()) for part in parts if len(part)]
    return [np.concatenate(x) for x in zip(*looks)]


def _follows(problem, solver, before, unit) -> bool:
    """Whether the field points along the solver's last step all the way. Far out it is constant over long stretches and
    turns within one unit, where other tokens come to score best: a long step may jump the turn, and no error shows."""
    ends = np.stack([before, solver.y])
    best = problem.best_token(ends @ problem.keys.T)
    if (best[0] == best[1]).all() and np.linalg.norm(np.subtract(*problem.direction(ends))) < 0.05:
        return True
    pieces = int(np.clip(solver.step_size / unit, 1, 1 + min(128, 10**6 // problem.counts.nnz)))
    x = solver.dense_output()(np.linspace(solver.t_old, solver.t, 2 * pieces + 1)).T
    along = (x[2::2] - x[:-2:2]) / (solver.step_size / pieces)
    return bool((np.linalg.norm(problem.direction(x[1::2]) - along, axis=1) < 0.2).all())


def _rounding(problem, p):
    """What rounding may change the tangent by."""
    weights = problem.tail(p)
    return weights.rounding(weights.gradient())


def _newton_step(problem, p):
    """The way to a zero of grad L, to first order."""
    weights = problem.tail(p)
    return np.linalg.lstsq(weights.hessian(), weights.gradient())[0]


def _has_settled(arclength, looks, settled) -> bool:
    half = bisect_left(arclength, arclength[-1] / 2)
    tangent, log_norm = looks[-1]
    fell = looks[half][1] - log_norm >= 20
    return fell and all(np.linalg.norm(earlier - tangent) <= settled for earlier, _ in looks[half:])


def turning(problem: SelectionProblem, p) -> np.ndarray:
    """dg/dp, the change of the unit tangent with p: (d, d)."""
    weights = problem.tail(p)
    G = weights.gradient()
    norm = np.linalg.norm(G)
    g, H = G / norm, weights.hessian() / norm
    return H - np.outer(g, g @ H)


def log_times(arclength, log_norms, middles) -> np.ndarray:
    """log t at each arc length, t = integral of dtau / |grad L|, from log |grad L| at the steps and half-way between.

    On a step of length h let x = -log |grad L| go from x0 to x1 = x0 + D as x0 + D s + 4 c s (1 - s), 0 <= s <= 1. The
    straight part is integrated exactly, by the substitution sigma = (e^{D s} - 1) / (e^D - 1), the rest by quadrature:

        integral = h e^{x0} (e^D - 1)/D integral_0^1 e^{4 c s (1 - s)} dsigma,

    exact where |grad L| falls like a pure exponential, however long the step.
    """
    h, x = np.diff(arclength), -np.asarray(log_norms)
    D = np.diff(x)
    D = np.where(np.abs(D) < 1e-9, 1e-9, D)[:, None]
    c = (-np.asarray(middles) - (x[:-1] + x[1:]) / 2)[:, None]
    nodes, weights = leggauss(12)
    sigma, weights = (1 + nodes) / 2, weights / 2
    s = np.logaddexp(np.log1p(-sigma), np.log(sigma) + D) / D
    log_straight = np.maximum(D, 0) + np.log(-np.expm1(-np.abs(D)) / np.abs(D))
    steps = np.log(h) + x[:-1] + log_straight[:, 0] + np.log(np.exp(4 * c * s * (1 - s)) @ weights)
    return np.r_[-np.inf, np.logaddexp.accumulate(steps)]
