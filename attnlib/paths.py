"""Regularisation paths in the plane by exhaustive search, and the line that a path approaches.

The path is p(R) = argmin of L over |p| <= R, or over the part of the ball in a cone. The loss is not convex, and
`regularization_path` searches locally. In two dimensions one can look everywhere: at a grid of directions and norms,
made finer around the best. Theorems: chapter "Regularisation paths".
"""

from functools import cmp_to_key

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

from .descent import difference
from .margin import MaxMargin, selection_matrix
from .problem import SelectionProblem
from .shortest import rows


def least(problem: SelectionProblem, points) -> int:
    """The index of a point of least loss among points (k, d), right also where the losses round to the same float."""
    weights = problem.tail(points)
    log_excess, sign = weights.log_excess()
    selections = np.unique(weights.best, axis=0, return_inverse=True)[1].ravel()
    order = np.lexsort((sign * log_excess, sign, selections))
    first = order[np.unique(selections[order], return_index=True)[1]]  # the best point of each selection
    return int(min(first, key=cmp_to_key(lambda a, b: difference(problem, points[a], points[b]))))


def plane_path(problem: SelectionProblem, radii, axis=(1.0, 0.0), mu: float = 2.0, inner: float = 0.0) -> np.ndarray:
    """For each radius R the p of least loss with inner <= |p| <= R and cosine at least 1 - mu with `axis`, for keys
    in the plane: (len(radii), 2). mu = 2 is the whole disc.

    Looks at 3601 directions and 12 norms, then seven times closer to the best of them.
    """
    if problem.keys.shape[1] != 2:
        raise ValueError(f"the keys have {problem.keys.shape[1]} coordinates, but only in 2 can one look everywhere")
    radii = np.asarray(radii, dtype=float)
    if radii.ndim != 1 or not (np.isfinite(radii) & (radii > 0)).all():
        raise ValueError("radii must be one row of positive numbers")
    middle, wide = np.arctan2(axis[1], axis[0]), np.arccos(1 - mu)
    path = []
    for R in radii:
        lowest = max(inner, 1e-3 * R)
        angle, norm = np.linspace(-wide, wide, 3601), np.geomspace(lowest, R, 12)
        step, factor = wide / 1800, norm[1] / norm[0]
        for _ in range(8):
            grid = np.stack(np.meshgrid(angle, norm), axis=-1).reshape(-1, 2)
            points = grid[:, 1:] * np.stack([np.cos(middle + grid[:, 0]), np.sin(middle + grid[:, 0])], axis=1)
            best = least(problem, points)
            angle = np.clip(grid[best, 0] + step * np.linspace(-2, 2, 81), -wide, wide)
            norm = np.clip(grid[best, 1] * factor ** np.linspace(-2, 2, 21), lowest, R)
            step, factor = step / 10, factor**0.25
        path.append(points[best])
    return np.array(path)


def asymptote(problem: SelectionProblem, selection, solution: MaxMargin) -> np.ndarray:
    """The vector x with p(R) = R u + x + O(1/R), u the max-margin direction of one selected token a document: (d,).

    It minimises sum_k c_k e^{-a_k.x} over the tight pairs k = (s, u), x in the span V of the differences of their a_k,
    with c_k = sum_i sigmoid(-y_i gamma_s) y_i (gamma_s - gamma_u) C_iu / C_is over the documents that select s over u.
    """
    pairs = solution.constraints[solution.tight]
    a, c = rows(problem.keys, pairs), strengths(problem, selection, pairs)
    if (c <= 0).any():
        raise ValueError("a tight token scores as high as the selected one: the selection is not locally optimal")
    V = np.linalg.svd(a[1:] - a[0], full_matrices=False)
    V = V[2][V[1] > 1e-9 * np.abs(a).max()] if len(a) > 1 else np.zeros((0, a.shape[1]))
    if not len(V):
        return np.zeros(a.shape[1])
    b = a @ V.T

    def phi(x):
        log_w = np.log(c) - b @ x
        pi = np.exp(log_w - logsumexp(log_w))
        return logsumexp(log_w), -pi @ b, (b.T * pi) @ b - np.outer(pi @ b, pi @ b)

    found = minimize(
        lambda x: phi(x)[0], np.zeros(len(V)), jac=lambda x: phi(x)[1], hess=lambda x: phi(x)[2], method="trust-exact"
    )
    x = found.x
    for _ in range(3):  # Newton's method to the last digits
        x = x - np.linalg.solve(phi(x)[2], phi(x)[1])
    return x @ V


def strengths(problem: SelectionProblem, selection, pairs) -> np.ndarray:
    """c_k of each pair, summed over the documents that select its first token and hold its second: (k,)."""
    M = selection_matrix(problem, selection)
    if M.nnz != M.shape[0]:
        raise ValueError("selection names several tokens of a document, but one of each is needed")
    s, y, gamma = M.indices, problem.labels, problem.values
    C = problem.counts
    weight = y * expit(-y * gamma[s]) / C[np.arange(len(s)), s]
    return np.array([(weight * (s == k) * C[:, [u]].toarray()[:, 0]).sum() * (gamma[k] - gamma[u]) for k, u in pairs])
