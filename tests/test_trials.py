"""The batched trials against a plain loop, autograd and the stored study."""

import numpy as np
import pytest
import torch

from attnlib import descend, is_locally_optimal, optimal_tokens, selected, trials


def test_draws_are_on_the_sphere_and_repeatable():
    X, y, v = trials.draw(10, 3)
    assert X.shape == (4, 6, 10) and np.allclose(np.linalg.norm(X, axis=2), 1) and np.isclose(np.linalg.norm(v), 1)
    assert set(y) <= {-1.0, 1.0}
    assert (trials.draw(10, 3)[0] == X).all() and (trials.draw(10, 4)[0] != X).any()
    labels = np.array([trials.draw(2, t)[1] for t in range(500)])
    assert abs(labels.mean()) < 0.1


def test_coordinates_of_the_span_keep_scores_and_norms():
    X, y, v = trials.draw(100, 0)
    small, rows = trials.problem(100, 0), X.reshape(24, 100)
    assert small.keys.shape == (24, 24) and np.abs(small.keys @ small.keys.T - rows @ rows.T).max() < 1e-12
    assert np.abs(small.values - rows @ v).max() < 1e-14 and (small.labels == y).all()


@pytest.mark.parametrize("d", [2, 10, 100])
def test_together_is_each_alone(d):
    problems = [trials.problem(d, t) for t in range(6)]
    together = trials.descend_together(problems, steps=300)
    for problem, p in zip(problems, together):
        alone = descend(problem, np.zeros(problem.keys.shape[1]), 300, 1.0)[-1]
        assert np.linalg.norm(alone - p) < 1e-9 * np.linalg.norm(p)


def test_gradients_against_autograd():
    problem = trials.problem(5, 1)
    K, s = torch.tensor(problem.keys), torch.tensor(problem.labels[:, None] * problem.values.reshape(4, 6))
    p = torch.tensor(np.random.default_rng(0).normal(size=5), requires_grad=True)
    loss = torch.nn.functional.softplus(-(torch.softmax((K @ p).reshape(4, 6), 1) * s).sum(1)).mean()
    (grad,) = torch.autograd.grad(loss, p)
    G = trials.gradients(K.numpy()[None], s.numpy()[None], p.detach().numpy()[None])[0]
    assert np.abs(G / np.linalg.norm(G) + (grad / grad.norm()).numpy()).max() < 1e-12


def test_outcomes_agree_with_the_definition():
    seen = set()
    for d, ts in ((2, range(40)), (5, [379, 837, *range(20)])):
        problems = [trials.problem(d, t) for t in ts]
        for problem, p in zip(problems, trials.descend_together(problems)):
            found = trials.outcome(problem, p)
            seen.add(found.kind)
            A = torch.softmax(torch.tensor(problem.keys @ p).reshape(4, 6), 1).numpy()
            assert found.attention == pytest.approx(A.max(1).mean(), abs=1e-12)
            assert (found.kind == "U") == (A.max(1).mean() < 1 - 1e-5)
            if found.kind != "U":
                chosen = selected(problem, p)
                best = (chosen == optimal_tokens(problem)).all()
                assert (found.kind in "GL") == is_locally_optimal(problem, chosen)
                assert (found.kind == "G") == (best and found.kind != "N") and -1 <= found.cosine <= 1 + 1e-12
    assert seen == set("GLNU")


def test_fates():
    (p,) = trials.descend_together([trials.problem(5, 837)])
    assert trials.decide(trials.problem(5, 837), p) == "G"
    (p,) = trials.descend_together([trials.problem(2, 458)])
    assert trials.decide(trials.problem(2, 458), p) == "rest"


def test_the_study_is_stored_and_read_back(tmp_path, monkeypatch):
    before = trials.stored()
    found = trials.study(trials=12, dimensions=(2, 100))
    for d in ("2", "100"):
        for key in ("kinds", "random start", "1 - cosine", "gap"):
            kept = before["trials"][d][key][:12]
            assert kept == found["trials"][d][key] or (
                key[0] in "1g"
                and np.allclose(
                    *[[x for x in xs if x is not None] for xs in (kept, found["trials"][d][key])], rtol=0.02, atol=1e-9
                )
            )
    monkeypatch.setattr(trials, "RESULTS", tmp_path)
    trials.store(found)
    assert trials.stored() == found
    assert trials.summary(found)[0].startswith("d = 2: ") and len(trials.summary(found)) == 2
