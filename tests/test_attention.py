"""The closed forms of Attention against autograd, finite differences, a dense softmax and their own symmetries."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import cases, corpora, dense_attention, floats, gradient_scales, models

from attnlib import Attention, Corpus
from attnlib.reference import autograd_gradients

torch.set_num_threads(1)


def as_float32(model):
    return Attention(*(x.astype(np.float32) for x in (model.E, model.p, model.v)))


def assert_gradients_close(got, wanted, model, corpus, tolerance):
    # A softmax that has settled on one token leaves a gradient in p that is the difference of two nearly equal
    # numbers, in our arithmetic and in autograd's alike. So an error counts relative to the terms of the sum, entry by
    # entry, and not to the sum; the smallest float forgives entries whose every term underflows.
    for x, y, scale in zip(got, wanted, gradient_scales(model, corpus), strict=True):
        assert x.shape == y.shape == scale.shape
        assert (np.abs(x - y) <= tolerance * scale + np.finfo(x.dtype).tiny).all()


@given(cases())
def test_gradients_equal_autograd(case):
    corpus, model = case
    assert_gradients_close(model.gradients(corpus), autograd_gradients(model, corpus, batch=2), model, corpus, 1e-10)


@given(cases(elements=floats, magnitude=100.0))
def test_gradients_equal_autograd_with_rounded_scores(case):
    corpus, model = case
    assert_gradients_close(model.gradients(corpus), autograd_gradients(model, corpus), model, corpus, 1e-10)


@given(cases())
def test_float32_agrees_with_float64(case):
    corpus, model = case
    small = as_float32(model)
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        got, A, f = small.gradients(corpus), small.attention(corpus), small.logits(corpus)
    assert {x.dtype for x in (*got, small.z, small.gamma)} == {np.dtype(np.float32)}
    assert A.dtype == f.dtype == np.float64  # sums over many tokens
    assert all(np.isfinite(x).all() for x in (*got, A.data, f))
    assert_gradients_close(got, model.gradients(corpus), model, corpus, 1e-5)
    np.testing.assert_allclose(A.toarray(), model.attention(corpus).toarray(), atol=1e-5)
    np.testing.assert_allclose(f, model.logits(corpus), atol=1e-5 * np.abs(model.gamma).max())
    assert isinstance(small.loss(corpus), float)
    assert small.loss(corpus) == pytest.approx(model.loss(corpus), rel=1e-5, abs=1e-5 * np.abs(model.gamma).max())


@given(cases())
def test_float64_stays_float64_and_finite(case):
    corpus, model = case
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        results = (*model.gradients(corpus), model.attention(corpus).data, model.logits(corpus))
    assert {x.dtype for x in results} == {np.dtype(np.float64)}
    assert all(np.isfinite(x).all() for x in results)


@given(cases())
def test_attention_is_the_softmax_over_the_tokens_written_out(case):
    corpus, model = case
    A = model.attention(corpus).toarray()
    np.testing.assert_allclose(A.sum(axis=1), 1, rtol=1e-14)
    assert (A[corpus.counts.toarray() == 0] == 0).all()
    wanted = dense_attention(corpus, model.z)
    np.testing.assert_allclose(A, wanted, rtol=1e-13, atol=1e-300)
    np.testing.assert_allclose(model.logits(corpus), wanted @ model.gamma, rtol=1e-13, atol=1e-13)
    loss = np.log1p(np.exp(-corpus.labels * (wanted @ model.gamma))).mean()
    assert model.loss(corpus) == pytest.approx(loss, rel=1e-12)


@given(cases(elements=floats, magnitude=4.0))
def test_gradients_equal_central_differences(case):
    corpus, model = case
    h, parts = 1e-5, {"E": model.E, "p": model.p, "v": model.v}
    for name, gradient in zip(parts, model.gradients(corpus), strict=True):
        for at in np.ndindex(gradient.shape):
            loss = []
            for step in (h, -h):
                moved = parts[name].copy()
                moved[at] += step
                loss.append(Attention(**(parts | {name: moved})).loss(corpus))
            # h^2 times a third derivative (at most some hundreds here), and the rounding of the loss over 2h
            assert gradient[at] == pytest.approx((loss[0] - loss[1]) / (2 * h), abs=2e-7)


@given(cases(magnitude=20.0))
def test_gradient_in_E_lies_in_the_span_of_v_and_p(case):
    corpus, model = case
    gradient = model.gradients(corpus).E
    basis, sizes, _ = np.linalg.svd(np.stack([model.v, model.p], axis=1), full_matrices=False)
    basis = basis[:, sizes > 1e-12 * sizes.max(initial=0)]
    scale = gradient_scales(model, corpus)[0].max(initial=0)
    assert np.abs(gradient - gradient @ basis @ basis.T).max() <= 1e-13 * scale
    assert (np.linalg.svd(gradient, compute_uv=False)[2:] <= 1e-13 * scale).all()


@given(cases(magnitude=0.0))
def test_gradient_in_E_has_rank_one_at_p_0(case):
    corpus, model = case
    assert (np.linalg.svd(model.gradients(corpus).E, compute_uv=False)[1:] <= 1e-14).all()


def test_gradient_in_E_has_rank_two():
    rng = np.random.default_rng(0)
    corpus = Corpus(rng.integers(0, 3, (20, 8)) + np.eye(20, 8), np.sign(rng.standard_normal(20)), list("abcdefgh"))
    model = Attention(*(rng.standard_normal(shape) for shape in ((8, 6), 6, 6)))
    assert np.linalg.matrix_rank(model.gradients(corpus).E) == 2


@given(cases(magnitude=20.0), st.integers(-(10**6), 10**6))
def test_adding_a_constant_to_every_score_changes_nothing(case, constant):
    corpus, model = case
    # one more dimension in which every token is 1: it adds the constant to z, and nothing to gamma
    wide = np.pad(model.E, ((0, 0), (0, 1)), constant_values=1.0)
    shifted = Attention(wide, np.append(model.p, constant), np.append(model.v, 0.0))
    np.testing.assert_allclose(shifted.logits(corpus), model.logits(corpus), rtol=1e-12, atol=1e-13)
    got, wanted = shifted.gradients(corpus), model.gradients(corpus)
    assert_gradients_close((got.E[:, :-1], got.p[:-1], got.v[:-1]), wanted, model, corpus, 1e-9)


@given(cases(), st.randoms(use_true_random=False))
def test_permuting_documents_and_vocabulary_permutes_the_results(case, random):
    corpus, model = case
    n, size = corpus.counts.shape
    i, s = random.sample(range(n), n), random.sample(range(size), size)
    other = Corpus(corpus.counts[i][:, s], corpus.labels[i], [corpus.vocabulary[t] for t in s])
    moved = Attention(model.E[s], model.p, model.v)
    np.testing.assert_allclose(moved.logits(other), model.logits(corpus)[i], rtol=1e-13, atol=1e-13)
    A = model.attention(corpus).toarray()
    np.testing.assert_allclose(moved.attention(other).toarray(), A[i][:, s], rtol=1e-12, atol=1e-300)
    got, wanted = moved.gradients(other), model.gradients(corpus)
    assert_gradients_close(got, (wanted.E[s], wanted.p, wanted.v), moved, other, 1e-12)


@given(cases(), st.integers(2, 5))
def test_repeating_every_token_changes_nothing(case, times):
    corpus, model = case
    longer = Corpus(corpus.counts * times, corpus.labels, corpus.vocabulary)
    np.testing.assert_allclose(model.logits(longer), model.logits(corpus))
    assert_gradients_close(model.gradients(longer), model.gradients(corpus), model, corpus, 1e-12)


@given(corpora())
def test_attention_at_p_0_is_the_share_of_the_token(corpus):
    model = Attention(np.ones((corpus.counts.shape[1], 1)), [0.0], [1.0])
    shares = corpus.counts.toarray() / corpus.lengths[:, None]
    np.testing.assert_allclose(model.attention(corpus).toarray(), shares, rtol=1e-15)


def test_a_document_whose_tokens_all_score_low_is_not_zero_over_zero():
    corpus = Corpus([[1, 0, 0], [0, 2, 1]], [1, -1], ["high", "low", "lower"])
    model = Attention([[1e6, 1.0], [-1e6, 2.0], [-1e6 - 1, 3.0]], p=[1.0, 0.0], v=[0.0, 1.0])
    np.testing.assert_allclose(model.logits(corpus), [1, (2 * 2 + 3 / np.e) / (2 + 1 / np.e)], rtol=1e-10)


@given(corpora(), st.data())
def test_reference_batches_do_not_matter(corpus, data):
    model = data.draw(models(corpus.counts.shape[1], magnitude=1.0))
    for x, y in zip(autograd_gradients(model, corpus, batch=1), autograd_gradients(model, corpus), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)


def test_repr():
    assert repr(Attention(np.zeros((3, 2), np.float32), *np.zeros((2, 2), np.float32))) == (
        "Attention(3 tokens, d=2, float32)"
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"E": np.zeros(3)}, ["E", "(3,)"]),
        ({"E": [[1.0, 2.0], [3.0]]}, ["E", "not a number"]),
        ({"E": [["a", "b"]]}, ["E", "not a number"]),
        ({"E": [[0.0, 1.0], [np.nan, 1.0], [0.0, 1.0]]}, ["E", "row 1"]),
        ({"E": [[0.0, 1.0], [2.0, 1.0], [0.0, np.inf]]}, ["E", "row 2"]),
        ({"p": np.zeros(3)}, ["p", "(3,)", "(2,)"]),
        ({"p": np.zeros((2, 1))}, ["p", "(2, 1)"]),
        ({"p": [0.0, -np.inf]}, ["p", "row 1"]),
        ({"p": None}, ["p", "()"]),
        ({"v": [[1.0, 2.0]]}, ["v", "(1, 2)"]),
        ({"v": [np.nan, 0.0]}, ["v", "row 0"]),
    ],
)
def test_bad_models_are_refused_by_name(change, words):
    with pytest.raises(ValueError) as error:
        Attention(**({"E": np.zeros((3, 2)), "p": np.zeros(2), "v": np.zeros(2)} | change))
    assert str(error.value).startswith(words[0] + " ")
    assert all(word in str(error.value) for word in words)


@pytest.mark.parametrize("ask", ["logits", "loss", "attention", "gradients", "problem"])
def test_a_corpus_of_another_vocabulary_is_refused(ask):
    corpus = Corpus([[1, 1]], [1], ["a", "b"])
    with pytest.raises(ValueError, match="E has 3 rows, but the corpus has 2 tokens"):
        getattr(Attention(np.zeros((3, 1)), [0.0], [0.0]), ask)(corpus)


def test_mixed_precision_is_widened():
    model = Attention(np.zeros((2, 1), np.float32), np.zeros(1), np.zeros(1, np.float32))
    assert {model.E.dtype, model.p.dtype, model.v.dtype} == {np.dtype(np.float64)}
    assert Attention([[1], [2]], [1], [1]).E.dtype == np.float64


def test_the_callers_arrays_are_neither_modified_nor_aliased():
    E, p, v = np.ones((2, 3)), np.ones(3), np.ones(3)
    model, corpus = Attention(E, p, v), Corpus([[1, 2]], [1], ["a", "b"])
    gradients = model.gradients(corpus)
    before = gradients.E.copy()
    for x in (E, p, v):
        assert (x == 1).all()
        x[:] = 7
    np.testing.assert_array_equal(model.gradients(corpus).E, before)
    A = model.attention(corpus)
    A.data[:], A.indices[:] = 0, 0
    np.testing.assert_allclose(model.attention(corpus).toarray(), [[1 / 3, 2 / 3]])
