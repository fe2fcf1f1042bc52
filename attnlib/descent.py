"""Discrete descent on p, and the regularisation path: the least loss within a ball, for growing balls.

Both are followed where the loss has long stopped changing in floating point: directions come from the log domain, and
two points are compared by what their losses differ by, not by the losses.
"""

import contextlib
from functools import cmp_to_key, partial

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .margin import max_margin
from .optimality import optimal_sets
from .problem import SelectionProblem
from .shortest import Infeasible


def descend(problem: SelectionProblem, start, steps: int, rate: float, rule: str = "normalized") -> np.ndarray:
    """The iterates of gradient descent from one start (d,) or several (k, d): (steps + 1, d) or (steps + 1, k, d).

    rule="normalized": p + rate g, with g = -grad L / |grad L|;   rule="plain": p - rate grad L.
    """
    if rule not in ("normalized", "plain"):
        raise ValueError(f"rule is {rule!r}, but 'normalized' or 'plain' is needed")
    if not (np.isfinite(rate) and rate > 0):
        raise ValueError(f"rate is {rate}, but a positive number is needed")
    if steps < 0:
        raise ValueError(f"steps is {steps}, but at least 0 is needed")
    p = problem.check_point(start, (None,) * (np.ndim(start) - 1))
    points = np.empty((steps + 1, *p.shape))
    points[0] = p
    for k in range(steps):
        g, log_norm = problem.log_gradient(points[k])
        speed = 1.0 if rule == "normalized" else np.exp(log_norm)[..., None]
        points[k + 1] = points[k] + rate * speed * g
    return points


def regularization_path(problem: SelectionProblem, radii, starts: int = 10, seed: int = 0) -> np.ndarray:
    """For each radius R a p of least loss over |p| <= R, as far as local search finds it: (len(radii), d).

    The loss is not convex in p. Radii grow from where attention is nearly uniform, at most doubling each time. While
    attention is still soft, each is searched from `starts` random directions and the steepest one at 0; then, where
    random starts see a flat loss, the local minima found so far are continued, the best `starts` of them. The
    max-margin direction of the optimal tokens is tried throughout, if there is one. The best is kept: a local minimum
    over the ball, as far as 200 Newton steps reach. That it is the global one is not guaranteed.

    Where the constraint is active, p = R g(p) with g = -grad L/|grad L|: the minimum is one implicit Euler step, of
    length R, of the arc-length flow from 0.
    """
    radii = np.asarray(radii, dtype=float)
    if radii.ndim != 1 or not (np.isfinite(radii) & (radii > 0)).all() or (np.diff(radii) <= 0).any():
        raise ValueError("radii must be one row of positive, growing numbers")
    rng, d = np.random.default_rng(seed), problem.keys.shape[1]
    soft = 1 / (np.linalg.norm(problem.keys, axis=1).max() or 1.0)
    steepest, optimal = problem.tail(np.zeros(d)).gradient(), np.zeros(d)
    with contextlib.suppress(Infeasible):
        optimal = max_margin(problem, optimal_sets(problem), solver="NNLS").p
    minima, path, last = [], [], 0.0
    for R, asked in _ladder(soft, radii):
        tried = [steepest, *rng.standard_normal((starts, d))] if R <= 32 * soft or last == 0 else []
        begin = [R * q / np.linalg.norm(q) for q in (optimal, *tried) if q.any()]
        for p in minima:
            length = np.linalg.norm(p)
            begin.append(p if length < last * (1 - 1e-9) else p * (R / length))
        found = sorted((minimise_in_ball(problem, p, R) for p in begin), key=cmp_to_key(partial(difference, problem)))
        minima, last = _distinct(found, 1e-6 * R)[:starts], R
        if asked:
            path.append(minima[0])
    return np.array(path)


def _ladder(R, radii):
    """The radii, each with True, and between them others, with False, so that none is more than twice the last."""
    for asked in radii:
        while 2 * R < asked:
            R *= 2
            yield R, False
        R = asked
        yield R, True


def _distinct(points, distance):
    kept = []
    for p in points:
        if all(np.linalg.norm(p - q) > distance for q in kept):
            kept.append(p)
    return kept


def difference(problem: SelectionProblem, p, q) -> float:
    """A number with the sign of L(p) - L(q), right also where both losses round to the same float.

    If p and q select tokens of the same values, both exceed the same limit, and the logarithms of the excess tell.
    """
    a, b = problem.tail(p), problem.tail(q)
    if (problem.values[a.best] != problem.values[b.best]).any():
        return float(a.loss() - b.loss())
    (log_a, sign_a), (log_b, sign_b) = a.log_excess(), b.log_excess()
    if sign_a != sign_b:
        return float(sign_a - sign_b)
    return float(sign_a * np.expm1(np.clip(log_a - log_b, -1, 1)))


def minimise_in_ball(problem: SelectionProblem, p, R: float, steps: int = 200) -> np.ndarray:
    """A local minimum of the loss over |p| <= R from p, by Newton steps that are damped until the loss falls.

    With g = -grad L/|grad L|, H = -hess L/|grad L|: in the interior the step solves (I/s - H) x = g, and on the sphere,
    unless g points inwards, (I/s - P H P + (g.p/R^2) P) x = P g with P = I - p p'/R^2, the step of the implicit Euler
    method for the flow on the sphere, projected back. s grows after a step that helped: Newton's method in the end.
    """
    s, eye = R, np.eye(len(p))
    for _ in range(steps):
        weights = problem.tail(p)
        G = weights.gradient()
        norm = np.linalg.norm(G)
        if norm == 0:
            return p
        g, H = G / norm, weights.hessian() / norm
        on_sphere = np.linalg.norm(p) > R * (1 - 1e-12) and g @ p > 0
        if on_sphere:
            P = eye - np.outer(p, p) / R**2
            g, H = P @ g, P @ H @ P - (g @ p / R**2) * P
        if np.linalg.norm(g) < 1e-14:
            return p
        while True:
            q = _step(p, g, H, s, R, on_sphere)
            if q is not None and difference(problem, q, p) < 0:
                break
            if q is not None and np.linalg.norm(q - p) < 1e-12 * R:  # no step that the loss can see lowers it
                return p
            s /= 8
        p, s = q, 8 * s
    return p


def _step(p, g, H, s, R, on_sphere):
    try:
        q = p + cho_solve(cho_factor(np.eye(len(p)) / s - H), g)
    except LinAlgError:  # the loss is not convex on a step as long as this
        return None
    length = np.linalg.norm(q)
    return q * (R / length) if on_sphere or length > R else q
