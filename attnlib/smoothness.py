"""How fast the gradient of the loss can change, and so how long a step of descent may be.

If l' is M0-Lipschitz and |l'| <= M1, then |hess L| <= L for the constants below, and a step eta <= 1/L lowers the loss
by at least eta |grad L|^2 / 2. The published constant grows with the norms of the tokens, ours with their differences.
Derivations: chapter "Global and local convergence".
"""

import numpy as np

from . import checks
from .problem import SelectionProblem


def smoothness(problem: SelectionProblem, M0: float = 0.25, M1: float = 1.0) -> float:
    """(1/n) sum_i (M0 G_i^2 D_i^2 / 16 + M1 G_i D_i^2 / 4), with G_i the range of the values in document i and D_i the
    diameter of its keys. The defaults of M0 and M1 are those of the logistic loss on the whole line."""
    C = problem.counts
    total = 0.0
    for a, b in zip(C.indptr[:-1], C.indptr[1:]):
        rows = C.indices[a:b]
        keys = problem.keys[rows]
        G, D2 = np.ptp(problem.values[rows]), _diameter_squared(keys)
        total += M0 * G**2 * D2 / 16 + M1 * G * D2 / 4
    return total / C.shape[0]


def _diameter_squared(keys) -> float:
    return max(float(np.square(keys - key).sum(axis=1).max()) for key in keys)


def published_smoothness(X, v, W=None, M0: float = 0.25, M1: float = 1.0) -> float:
    """The paper's (1/n) sum_i (M0 |v|^2 |W|^2 |X_i|^4 + 3 M1 |v| |W|^2 |X_i|^3), in spectral norms; W=None is I."""
    X = checks.floats("X", X, (None, None, None))
    v = np.linalg.norm(checks.floats("v", v, (X.shape[2],)))
    W = 1.0 if W is None else np.linalg.norm(checks.floats("W", W, (None, X.shape[2])), 2)
    size = np.linalg.norm(X, 2, axis=(1, 2))
    return float((M0 * v**2 * W**2 * size**4 + 3 * M1 * v * W**2 * size**3).mean())
