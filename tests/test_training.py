"""Training: against one step, against torch, to the bit after an interruption, and what is refused."""

import os
import signal
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import cases, dense_attention, floats

from attnlib import Attention, Corpus, one_step, train, training
from attnlib.sources import important_tokens, tilted_zipf
from attnlib.training import accuracy

CORPUS = tilted_zipf(n=200, size=600, length=30, seed=0)  # more rows of E than are updated at a time
OTHER = tilted_zipf(n=100, size=600, length=30, seed=1)


def run(corpus=CORPUS, d=6, steps=20, **options):
    return train(corpus, d, steps, progress=False, **options)


def equal(one, other):
    for name in ("E", "p", "v"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def same(one, other):
    equal(one.model, other.model)
    equal(one.last, other.last)
    assert one.history.keys() == other.history.keys()
    for name, values in one.history.items():
        np.testing.assert_array_equal(values, other.history[name])


def random_model(size, d, seed=0, scale=0.5):
    rng = np.random.default_rng(seed)
    return Attention(scale * rng.standard_normal((size, d)), rng.standard_normal(d), rng.standard_normal(d))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_start(dtype):
    start = run(d=128, steps=0, dtype=dtype).model
    assert start.E.dtype == start.p.dtype == start.v.dtype == dtype
    assert np.linalg.norm(start.E, axis=1).mean() == pytest.approx(0.1, rel=0.01)
    assert np.linalg.norm(start.p) == pytest.approx(0.1, rel=0.2)
    assert np.linalg.norm(start.v) == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("train_v", [False, True])
def test_one_step_of_descent(train_v):
    model, rate = random_model(600, 6), 3.0
    gradients = model.gradients(CORPUS)
    moved = run(steps=1, rate=rate, method="gd", start=model, train_v=train_v).model
    np.testing.assert_allclose(moved.E, one_step(model, CORPUS, rate).E, rtol=0, atol=1e-15)
    np.testing.assert_allclose(moved.p, model.p - rate * gradients.p, rtol=0, atol=1e-15)
    np.testing.assert_allclose(moved.v, model.v - rate * train_v * gradients.v, rtol=0, atol=1e-15)


@pytest.mark.parametrize("train_v", [False, True])
@pytest.mark.parametrize("method, rate", [("adam", 0.05), ("gd", 2.0)])
def test_twenty_steps_against_torch(method, rate, train_v):
    torch = pytest.importorskip("torch")
    from attnlib.reference import PaddedAttention, pad

    model = random_model(600, 6, scale=0.1)
    module = PaddedAttention(model)
    moving = [module.E, module.p, module.v] if train_v else [module.E, module.p]
    optimizer = {"adam": torch.optim.Adam, "gd": torch.optim.SGD}[method](moving, lr=rate)
    ids, mask = pad(CORPUS)
    y, losses = torch.tensor(CORPUS.labels), []
    for _ in range(20):
        optimizer.zero_grad()
        loss = torch.nn.functional.softplus(-y * module(ids, mask)).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    mine = run(rate=rate, method=method, start=model, train_v=train_v)
    np.testing.assert_allclose(mine.history["loss"][:-1], losses, rtol=0, atol=1e-10)
    for name in ("E", "p", "v"):
        # Adam divides by the square root of an average of squares: rounding is magnified where gradients are tiny.
        theirs = getattr(module, name).detach().numpy()
        np.testing.assert_allclose(getattr(mine.model, name), theirs, rtol=0, atol=1e-8)


def test_history_describes_the_start_and_every_step():
    model = random_model(600, 6)
    trained = run(steps=3, rate=0.1, start=model, validation=OTHER)
    assert set(trained.history) == {"loss", "norm_p", "accuracy"}
    assert all(len(values) == 4 for values in trained.history.values())
    for k, now in ((0, model), (3, trained.last)):
        assert trained.history["loss"][k] == pytest.approx(now.loss(CORPUS), abs=1e-14)
        assert trained.history["norm_p"][k] == pytest.approx(np.linalg.norm(now.p), abs=1e-14)
        assert trained.history["accuracy"][k] == accuracy(now.logits(OTHER), OTHER.labels)
    assert set(run(steps=1).history) == {"loss", "norm_p"}
    assert repr(trained).startswith("Training(3 steps by adam, ended by steps: loss 0.")


def test_training_learns_what_can_be_learnt():
    corpus = important_tokens(n=100, T=6, important=3, irrelevant=9, seed=0)
    trained = train(corpus, d=16, steps=300, progress=False)
    assert trained.history["loss"][-1] < 0.05
    assert accuracy(trained.model.logits(corpus), corpus.labels) == 1


def test_accuracy_counts_an_undecided_document_as_wrong():
    assert accuracy(np.array([0.0, 2.0, -1.0, 3.0]), np.array([1, 1, -1, -1])) == 0.5


def test_the_seed_decides():
    same(run(seed=3), run(seed=3))
    assert (run(seed=3).model.p != run(seed=4).model.p).all()


@pytest.mark.parametrize("method, rate", [("adam", 0.02), ("gd", 5.0)])
@pytest.mark.parametrize("validation", [None, OTHER])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_going_on_is_the_same_as_not_having_ended(method, rate, validation, dtype):
    options = {"rate": rate, "method": method, "validation": validation, "dtype": dtype, "train_v": True}
    first = run(steps=30, **options)
    before = {name: x.copy() for name, x in first.state.parameters.items()}
    for _ in range(2):  # a training can be gone on with more than once
        same(run(steps=20, start=first, **options), run(steps=50, **options))
    for name, x in before.items():
        np.testing.assert_array_equal(first.state.parameters[name], x)
    same(run(steps=0, start=first, **options), first)


def test_the_best_model_by_validation_is_kept():
    flips = np.random.default_rng(0).choice([1, -1], len(CORPUS), p=[0.7, 0.3])
    noisy = Corpus(CORPUS.counts, CORPUS.labels * flips, CORPUS.vocabulary)
    trained = run(noisy, d=16, steps=60, rate=0.05, validation=OTHER)
    scores = trained.history["accuracy"]
    best = int(np.argmax(scores))
    assert 0 < best < 60 and scores[-1] < scores[best]
    equal(trained.model, run(noisy, d=16, steps=best, rate=0.05).model)
    equal(trained.last, run(noisy, d=16, steps=60, rate=0.05).model)
    patient = run(noisy, d=16, steps=best + 30, rate=0.05, validation=OTHER, patience=5)
    assert patient.stopped == "patience"
    waited = len(patient.history["loss"]) - 1 - int(np.argmax(patient.history["accuracy"]))
    assert waited == 5


def test_of_equals_the_first_is_the_best():
    start = random_model(600, 6)
    still = run(steps=5, rate=1e-9, method="gd", start=start, validation=OTHER)
    assert len(set(still.history["accuracy"])) == 1
    equal(still.model, start)


def test_an_interrupt_ends_training_between_two_steps(monkeypatch):
    steps_done = []

    def interrupted(state, *args, advance=training._advance):
        advance(state, *args)
        steps_done.append(state.step)
        if state.step == 7:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as m:
        m.setattr(training, "_advance", interrupted)
        cut = run(steps=50)
    assert cut.stopped == "interrupt" and steps_done == list(range(1, 8))
    assert signal.getsignal(signal.SIGINT) is before
    same(cut, run(steps=7))
    same(run(steps=43, start=cut), run(steps=50))


def test_training_in_another_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(run()))
    thread.start()
    thread.join()
    same(found[0], run())


def test_the_bar_shows_loss_and_accuracy(capsys):
    train(CORPUS, d=4, steps=3, validation=OTHER)
    shown = capsys.readouterr().err
    assert "training" in shown and "loss=0." in shown and "accuracy=0." in shown
    run(steps=3)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "options, message",
    [
        ({"d": 0}, "d is 0"),
        ({"steps": -1}, "steps is -1"),
        ({"rate": 0}, "rate is 0"),
        ({"rate": np.nan}, "rate is nan"),
        ({"method": "sgd"}, "method is 'sgd', but 'adam' or 'gd'"),
        ({"patience": 0, "validation": OTHER}, "patience is 0"),
        ({"patience": 3}, "patience needs a validation corpus"),
        ({"start": 3}, "start is of type int"),
        ({"start": random_model(5, 6)}, "start has 5 tokens, but the corpus has 600"),
        ({"validation": important_tokens(9, 3, 1, 2, 0)}, "validation has another vocabulary"),
        ({"rate": 1e300, "method": "gd", "dtype": np.float64}, "the loss is .* after step .*: a smaller rate"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_bad_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        run(**options)


def test_a_training_goes_on_as_it_began():
    with pytest.raises(ValueError, match="start was trained by method='adam', but method is 'gd'"):
        run(start=run(steps=1), method="gd")
    with pytest.raises(ValueError, match="start was trained with train_v=False, but train_v is True"):
        run(start=run(steps=1), train_v=True)
    with pytest.raises(ValueError, match="start was trained with validation"):
        run(start=run(steps=1), validation=OTHER)


@given(cases(elements=floats, magnitude=1.0), st.floats(1e-3, 1.0), st.integers(1, 3))
@settings(max_examples=100, deadline=None)
def test_descent_and_its_history_written_out(case, rate, steps):
    """E, p and v by the softmax over tokens written out, in dense arithmetic."""
    corpus, model = case
    trained = train(corpus, steps=steps, rate=rate, method="gd", start=model, train_v=True, progress=False)
    E, p, v, y, n = model.E, model.p, model.v, corpus.labels, len(corpus)
    for step in range(steps + 1):
        A = dense_attention(corpus, E @ p)
        f = A @ (E @ v)
        assert trained.history["loss"][step] == pytest.approx(np.logaddexp(0, -y * f).mean(), abs=1e-10)
        assert trained.history["norm_p"][step] == pytest.approx(np.linalg.norm(p), abs=1e-10)
        if step < steps:
            w = (y / (1 + np.exp(y * f)) / n)[:, None] * A
            a, omega = w.sum(axis=0), (w * (E @ v - f[:, None])).sum(axis=0)
            E, p, v = E + rate * (np.outer(a, v) + np.outer(omega, p)), p + rate * omega @ E, v + rate * a @ E
    np.testing.assert_allclose(trained.last.E, E, rtol=0, atol=1e-9)
    np.testing.assert_allclose(trained.last.p, p, rtol=0, atol=1e-9)
    np.testing.assert_allclose(trained.last.v, v, rtol=0, atol=1e-9)
