"""Nonlinear heads: f_i = psi(x_i), x_i = sum_t s_it X_it the attention feature of sequence i, psi any smooth function.

By the chain rule -grad_p L is that of a linear head whose output vector depends on the document: v_i = grad psi(x_i),
with the weight g_i = -ell'(y_i psi(x_i)). So at each p there is a selection problem, with values g_i X_i v_i and the
correlation loss, that has the same gradient there; and the log domain serves every head, at any norm of p.
"""

import numpy as np
import torch

from . import checks
from .losses import CORRELATION, LOGISTIC, Loss
from .problem import SelectionProblem


def tangent_problem(X, labels, head, p, W=None, ell: Loss = LOGISTIC) -> SelectionProblem:
    """The selection problem with the gradient that the head has at p (k,), for sequences X (n, T, d).

    `head` maps a torch tensor of features (n, d) to outputs (n,), row by row; W (k, d) maps tokens to keys, None is the
    identity. Exact at p alone: at another p the features differ, and so do the values. Weights g_i below e^-700 of the
    largest count as 0.
    """
    X = checks.floats("X", X, (None, None, None)).astype(np.float64)
    n, T, d = X.shape
    keys = X if W is None else X @ checks.floats("W", W, (None, d)).T
    p = checks.floats("p", p, (keys.shape[2],)).astype(np.float64)
    z = keys @ p
    s = np.exp(z - z.max(axis=1, keepdims=True))
    x = torch.tensor(np.einsum("it,itd->id", s / s.sum(axis=1, keepdims=True), X), requires_grad=True)
    f = head(x)
    if tuple(f.shape) != (n,):
        raise ValueError(f"head gave shape {tuple(f.shape)} for features of shape {(n, d)}: shape {(n,)} is needed")
    (slopes,) = torch.autograd.grad(f.sum(), x)
    y = checks.labels(labels, n)
    log_g = ell.log_slope(y * f.detach().numpy())
    g = np.exp(log_g - log_g.max())
    values = g[:, None] * np.einsum("itd,id->it", X, slopes.numpy())
    C = np.kron(np.eye(n), np.ones(T))
    return SelectionProblem(keys.reshape(n * T, -1), values.ravel(), C, y, CORRELATION)
