"""Made corpora keep what they promise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlib import important_tokens, signed_frequency


@given(st.integers(1, 60), st.integers(2, 9), st.integers(1, 4), st.integers(1, 6), st.integers(0, 99), st.floats(0, 1))
@settings(max_examples=50, deadline=None)
def test_one_important_type_of_the_right_class(n, T, important, irrelevant, seed, positive):
    repeats = 1 + seed % T
    corpus = important_tokens(n, T, important, irrelevant, seed, repeats=repeats, positive=positive)
    C, y = corpus.counts.toarray(), corpus.labels
    assert C.shape == (n, 2 * important + irrelevant) and (corpus.lengths == T).all()
    assert ((C[:, : 2 * important] > 0).sum(axis=1) == 1).all()
    assert ((C[:, :important].sum(axis=1) > 0) == (y > 0)).all()
    assert C[:, : 2 * important].max() <= repeats
    assert (y > 0).sum() == round(positive * n)


def test_repeats_imbalance_noise_and_seeds():
    corpus = important_tokens(4000, 8, 3, 5, seed=1, repeats=4, positive=0.2, noise=0.1)
    C = corpus.counts.toarray()
    times = C[:, :6].sum(axis=1)
    assert [np.mean(times == k) for k in (1, 2, 3, 4)] == pytest.approx([0.25] * 4, abs=0.03)
    made_positive = C[:, :3].sum(axis=1) > 0
    assert made_positive.sum() == 800
    flipped = made_positive != (corpus.labels > 0)
    assert flipped.mean() == pytest.approx(0.1, abs=0.02)
    assert (C[:, :3] > 0).sum(axis=0) == pytest.approx(800 / 3, abs=60)  # types of a class are equally likely
    assert C[:, 6:].sum(axis=0) == pytest.approx(C[:, 6:].sum() / 5, rel=0.05)
    again = important_tokens(4000, 8, 3, 5, seed=1, repeats=4, positive=0.2, noise=0.1)
    other = important_tokens(4000, 8, 3, 5, seed=2, repeats=4, positive=0.2, noise=0.1)
    assert (C == again.counts.toarray()).all() and (corpus.labels == again.labels).all()
    assert (C != other.counts.toarray()).any()
    assert corpus.vocabulary[:4] == ("good0", "good1", "good2", "bad0") and corpus.vocabulary[-1] == "other4"


def test_paired_documents_differ_in_the_important_type_alone():
    corpus = important_tokens(40, 7, 2, 5, seed=3, repeats=3, paired=True)
    C, y = corpus.counts.toarray(), corpus.labels
    assert (y[::2] == 1).all() and (y[1::2] == -1).all()
    assert (C[::2, 4:] == C[1::2, 4:]).all() and (corpus.lengths == 7).all()
    assert ((C[::2, :2] > 0).sum(axis=1) == 1).all() and ((C[1::2, 2:4] > 0).sum(axis=1) == 1).all()
    assert (signed_frequency(corpus)[4:] == 0).all() and (np.abs(signed_frequency(corpus)[:4]) > 0).all()


def test_documents_of_one_token():
    corpus = important_tokens(5, 1, 2, 0, seed=0)
    assert (corpus.counts.sum(axis=1) == 1).all()


@pytest.mark.parametrize(
    "change, message",
    [
        ({"n": 0}, "n is 0"),
        ({"important": 0}, "important is 0"),
        ({"repeats": 5}, "cannot hold"),
        ({"irrelevant": 0}, "cannot hold"),
        ({"positive": 1.5}, "positive is 1.5"),
        ({"noise": -0.1}, "noise is -0.1"),
        ({"n": 3, "paired": True}, "even n"),
        ({"positive": 0.25, "paired": True}, "positive=0.25"),
    ],
)
def test_bad_parameters_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        important_tokens(**({"n": 4, "T": 4, "important": 1, "irrelevant": 2, "seed": 0} | change))
