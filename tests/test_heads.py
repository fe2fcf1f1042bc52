"""The tangent problem of a nonlinear head against autograd; its limit against the hard-margin reference."""

import numpy as np
import pytest
import torch

from attnlib import CORRELATION, EXPONENTIAL, LOGISTIC, SelectionProblem
from attnlib.heads import tangent_problem


def network(seed, d):
    rng = np.random.default_rng(seed)
    A, b, c = (torch.tensor(rng.standard_normal(shape)) for shape in ((6, d), 6, 6))
    return lambda x: torch.tanh(x @ A.T + b) @ c


PRINTED = {
    LOGISTIC: lambda u: torch.nn.functional.softplus(-u),
    EXPONENTIAL: lambda u: torch.exp(-u),
    CORRELATION: lambda u: -u,
}


@pytest.mark.parametrize("ell", PRINTED, ids=lambda ell: ell.name)
@pytest.mark.parametrize("mapped", [False, True])
def test_direction_equals_autograd(ell, mapped):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y, head = rng.standard_normal((4, 5, 3)), rng.choice([-1.0, 1.0], 4), network(seed, 3)
        W = rng.standard_normal((2, 3)) if mapped else None
        p = torch.tensor(2 * rng.standard_normal(2 if mapped else 3), requires_grad=True)
        keys = torch.tensor(X if W is None else X @ W.T)
        features = (torch.softmax(keys @ p, dim=1).unsqueeze(-1) * torch.tensor(X)).sum(dim=1)
        (gradient,) = torch.autograd.grad(PRINTED[ell](torch.tensor(y) * head(features)).mean(), p)
        at = p.detach().numpy()
        found = tangent_problem(X, y, head, at, W, ell).direction(at)
        np.testing.assert_allclose(found, -(gradient / gradient.norm()).numpy(), atol=1e-11)


def test_a_linear_head_gives_back_the_selection_problem_at_any_norm():
    rng = np.random.default_rng(0)
    X, y, v = rng.standard_normal((4, 5, 3)), rng.choice([-1.0, 1.0], 4), rng.standard_normal(3)
    problem = SelectionProblem.from_sequences(X, y, v)
    for size in (0.1, 10.0, 1e3, 1e6):
        p = size * rng.standard_normal(3)
        found = tangent_problem(X, y, lambda x: x @ torch.tensor(v), p).direction(p)
        np.testing.assert_allclose(found, problem.direction(p), atol=1e-8)


def test_a_head_of_the_wrong_shape_is_refused():
    X = np.zeros((2, 3, 4))
    with pytest.raises(ValueError, match=r"head gave shape \(2, 4\)"):
        tangent_problem(X, [1, 1], lambda x: 2 * x, np.zeros(4))
    with pytest.raises(ValueError, match="p has shape"):
        tangent_problem(X, [1, 1], lambda x: x.sum(1), np.zeros(3))
