"""One gradient step on the embeddings: the exact theorem, the random start with its bound, and the statistics."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from strategies import arrays, cases, corpora, floats, token_lists

from attnlib import Attention, Corpus, one_step, posterior_difference, remainder_bound, signed_frequency
from attnlib.one_step import frequency


def remainder(model, corpus):
    """R_s in E1_s = E0_s + (eta/2) alpha_s v + eta R_s: (|S|, d).

    From the gradient, as (E1 - E0)/eta would lose what E0 rounds away; that one_step takes it is a test of its own.
    """
    return -model.gradients(corpus).E - np.outer(signed_frequency(corpus), model.v) / 2


@given(st.data())
def test_one_step_from_a_start_orthogonal_to_v(data):
    corpus = data.draw(corpora())
    size, d, eta = corpus.counts.shape[1], data.draw(st.integers(1, 6)), data.draw(st.floats(-100, 100))
    E, v = data.draw(arrays((size, d), floats)), np.zeros(d)
    v[0], E[:, 0] = data.draw(floats), 0.0
    moved = one_step(Attention(E, np.zeros(d), v), corpus, eta)
    wanted = E + eta / 2 * np.outer(signed_frequency(corpus), v)
    np.testing.assert_allclose(moved.E, wanted, rtol=1e-14, atol=1e-14 * abs(eta) + 1e-300)
    np.testing.assert_allclose(moved.gamma, eta / 2 * (v @ v) * signed_frequency(corpus), atol=1e-13 * (1 + abs(eta)))
    np.testing.assert_array_equal(moved.p, 0)
    np.testing.assert_array_equal(moved.v, v)


def test_one_step_is_exact_whenever_E_v_and_E_p_are_0():
    rng = np.random.default_rng(0)
    corpus = Corpus(rng.integers(0, 3, (30, 8)) + np.eye(30, 8), np.sign(rng.standard_normal(30)), list("abcdefgh"))
    p, v = rng.standard_normal((2, 5))
    away = np.linalg.qr(np.stack([p, v], axis=1), mode="complete")[0][:, 2:]
    E = rng.standard_normal((8, 3)) @ away.T
    moved = one_step(Attention(E, p, v), corpus, eta=3.0)
    np.testing.assert_allclose(moved.E, E + 1.5 * np.outer(signed_frequency(corpus), v), atol=1e-14)


def test_one_step_keeps_float32():
    corpus = Corpus([[1, 2]], [1], ["a", "b"])
    moved = one_step(Attention(*(np.ones(shape, np.float32) for shape in ((2, 3), 3, 3))), corpus, eta=0.1)
    assert {moved.E.dtype, moved.p.dtype, moved.v.dtype} == {np.dtype(np.float32)}


@given(cases(elements=floats), st.floats(0.001, 100))
def test_one_step_descends_the_gradient(case, eta):
    corpus, model = case
    before = model.E.copy()
    moved = one_step(model, corpus, eta)
    np.testing.assert_array_equal(moved.E, before - eta * model.gradients(corpus).E)
    np.testing.assert_array_equal(model.E, before)


@pytest.mark.parametrize("eta", [np.nan, np.inf, -np.inf])
def test_step_sizes_that_are_no_numbers_are_refused(eta):
    with pytest.raises(ValueError, match="eta"):
        one_step(Attention([[1.0]], [1.0], [1.0]), Corpus([[1]], [1], ["a"]), eta)


@pytest.mark.parametrize("magnitude", [0.0, 0.01, 1.0, 20.0, 150.0])
@given(st.data())
def test_remainder_is_within_its_bound(magnitude, data):
    corpus, model = data.draw(cases(elements=floats, magnitude=magnitude))
    bound = remainder_bound(model, corpus)
    rounding = 1e-13 * (np.linalg.norm(model.v) + np.linalg.norm(model.p) * np.abs(model.gamma).max())
    assert bound.dtype == np.float64 and bound.shape == (corpus.counts.shape[1],)
    assert (np.linalg.norm(remainder(model, corpus), axis=1) <= bound * (1 + 1e-12) + rounding).all()
    assert (bound[frequency(corpus) == 0] == 0).all()


# Each line makes one part of the bound nearly tight: the token asked for scores and values high, the others low, they
# are so many that the sum is theirs, and v and p are parallel (or one of them does not count).
TIGHT = {
    "small": ([[1e-4], [-1e-4]], [1.0], [1.0]),
    "scores alone": ([[1.0, 0.0], [-1.0, 0.0]], [1.0, 0.0], [0.0, 1.0]),
    "large scores": ([[1e-4], [-1e-4]], [3e4], [1.0]),
    "values along v": ([[1e-3], [-1e-3]], [0.0], [1.0]),
    "values along p": ([[1e-3, 0.0], [-1e-3, 0.0]], [0.0, 1e4], [1.0, 0.0]),
    "second order of the values along p": ([[0.3, 0.0], [-0.3, 0.0]], [0.0, 1e4], [1.0, 0.0]),
}


@pytest.mark.parametrize("name", TIGHT)
def test_the_bound_is_tight(name):
    model, corpus = Attention(*TIGHT[name]), Corpus([[1, 10**6]], [1], ["one", "others"])
    ratio = np.linalg.norm(remainder(model, corpus)[0]) / remainder_bound(model, corpus)[0]
    assert 0.99 < ratio <= 1 + 1e-9


def test_the_bound_has_the_right_scale_on_random_instances():
    rng = np.random.default_rng(0)
    ratios = []
    for _ in range(3000):
        size, d, n = rng.integers(2, 6), rng.integers(1, 3), rng.integers(1, 4)
        counts = rng.integers(0, 2, (n, size)) * rng.integers(1, 100, (n, size))
        counts[:, 0] += counts.sum(axis=1) == 0
        corpus = Corpus(counts, rng.choice([-1, 1], n), [str(s) for s in range(size)])
        E = rng.choice([-1.0, 1.0], (size, d)) * 10.0 ** rng.uniform(-4, 0.5)
        model = Attention(E, rng.standard_normal(d) * 10.0 ** rng.uniform(-2, 1), rng.standard_normal(d))
        used = frequency(corpus) > 0
        ratio = np.linalg.norm(remainder(model, corpus), axis=1)[used] / remainder_bound(model, corpus)[used]
        ratios.append(ratio.max())
    assert 0.9 < max(ratios) <= 1


def test_the_bound_of_a_wild_start_is_infinite_not_nan():
    model = Attention(np.full((2, 1), 1e3), [1.0], [1.0])
    with np.errstate(all="raise"):
        assert remainder_bound(model, Corpus([[1, 0]], [1], ["used", "unused"])).tolist() == [np.inf, 0.0]


def test_the_bound_of_a_float32_model_does_not_overflow():
    model = Attention(np.array([[50.0]]), [1.0], [1.0])
    small = Attention(*(x.astype(np.float32) for x in (model.E, model.p, model.v)))
    corpus = Corpus([[1]], [1], ["a"])
    np.testing.assert_allclose(remainder_bound(small, corpus), remainder_bound(model, corpus), rtol=1e-5)


def test_first_order_term_of_the_remainder():
    rng = np.random.default_rng(3)
    corpus = Corpus(rng.integers(0, 4, (30, 8)) + np.eye(30, 8), np.sign(rng.standard_normal(30)), list("abcdefgh"))
    E, p, v = (rng.standard_normal(shape) for shape in ((8, 4), 4, 4))
    share = corpus.counts.toarray() / corpus.lengths[:, None]
    left = []
    halvings = 2.0 ** -np.arange(8, 15)
    for scale in halvings:
        model = Attention(scale * E, p, v)
        z, gamma, y = model.z, model.gamma, corpus.labels
        along_v = y[:, None] * (z - (share @ z)[:, None]) / 2 - (share @ gamma)[:, None] / 4
        along_p = y[:, None] * (gamma - (share @ gamma)[:, None]) / 2
        first = np.outer((share * along_v).mean(axis=0), v) + np.outer((share * along_p).mean(axis=0), p)
        left.append(np.abs(remainder(model, corpus) - first).max())
    slope = np.polyfit(np.log(halvings), np.log(left), 1)[0]
    assert slope == pytest.approx(2, abs=0.01)


@given(corpora())
def test_statistics_by_counting(corpus):
    documents, n = [tokens.tolist() for tokens in token_lists(corpus)], len(corpus)
    for s in range(corpus.counts.shape[1]):
        weights = {
            "frequency": [document.count(s) / len(document) for document in documents],
            "count": [document.count(s) for document in documents],
            "document": [float(s in document) for document in documents],
        }
        signed = sum(y * w for y, w in zip(corpus.labels, weights["frequency"]))
        assert frequency(corpus)[s] == pytest.approx(sum(weights["frequency"]) / n, rel=1e-14)
        assert signed_frequency(corpus)[s] == pytest.approx(signed / n, rel=1e-13, abs=1e-15)
        for by, weight in weights.items():
            got = posterior_difference(corpus, by=by)[s]
            if sum(weight) == 0:
                assert np.isnan(got)
            else:
                positive = sum(w for y, w in zip(corpus.labels, weight) if y == 1)
                negative = sum(w for y, w in zip(corpus.labels, weight) if y == -1)
                assert -1 <= got <= 1
                assert got == pytest.approx((positive - negative) / (positive + negative), rel=1e-13, abs=1e-14)
                if negative == 0 or positive == 0:
                    assert got == (1 if positive else -1)


@given(corpora())
def test_statistics_together(corpus):
    q, alpha, delta = frequency(corpus), signed_frequency(corpus), posterior_difference(corpus)
    assert q.sum() == pytest.approx(1, rel=1e-13)
    assert alpha.sum() == pytest.approx(corpus.labels.mean(), abs=1e-13)
    np.testing.assert_allclose(delta[q > 0], alpha[q > 0] / q[q > 0], rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(np.isnan(delta), q == 0)


def test_posterior_difference_by_something_else_is_refused():
    with pytest.raises(ValueError, match="by is 'tokens'"):
        posterior_difference(Corpus([[1]], [1], ["a"]), by="tokens")


def test_many_steps_at_p_0_are_logistic_regression_on_the_bag_of_words():
    rng = np.random.default_rng(1)
    corpus = Corpus(rng.integers(0, 4, (40, 7)) + np.eye(40, 7), np.sign(rng.standard_normal(40)), list("abcdefg"))
    share = corpus.counts.toarray() / corpus.lengths[:, None]
    model = Attention(rng.standard_normal((7, 3)), np.zeros(3), rng.standard_normal(3))
    weights, eta = model.gamma, 5.0
    for _ in range(200):
        model = one_step(model, corpus, eta)
        residual = corpus.labels * expit(-corpus.labels * (share @ weights))
        weights = weights + eta * (model.v @ model.v) * share.T @ residual / len(corpus)
    np.testing.assert_allclose(model.gamma, weights, rtol=1e-11)
    np.testing.assert_allclose(model.logits(corpus), share @ weights, rtol=1e-11, atol=1e-12)
