"""Corpus: what it counts, what it refuses, what it leaves out and says so."""

import dataclasses
import pickle
import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from strategies import corpora

from attnlib import Corpus
from attnlib.corpus import tokenize

GOOD = {"counts": [[1, 0], [1, 2], [0, 1]], "labels": [1, -1, 1], "vocabulary": ["a", "b"]}


documents_and_labels = st.tuples(st.lists(st.text(max_size=3), min_size=1, max_size=12), st.sampled_from([-1, 1]))


@given(st.lists(documents_and_labels, min_size=1))
def test_from_tokens_counts(pairs):
    documents, labels = map(list, zip(*pairs))
    corpus = Corpus.from_tokens(documents, labels)
    assert corpus.vocabulary == tuple(sorted(set().union(*documents)))
    assert len(corpus) == len(documents)
    np.testing.assert_array_equal(corpus.labels, labels)
    np.testing.assert_array_equal(corpus.lengths, [len(document) for document in documents])
    for row, document in zip(corpus.counts.toarray(), documents):
        assert {word: k for word, k in zip(corpus.vocabulary, row) if k} == Counter(document)


def test_from_tokens_with_a_vocabulary_keeps_its_order_and_case():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        corpus = Corpus.from_tokens([["Zoo", "a"], ["a", "a"]], [1, -1], ["unused", "a", "Zoo"])
    assert corpus.vocabulary == ("unused", "a", "Zoo")
    np.testing.assert_array_equal(corpus.counts.toarray(), [[0, 1, 1], [0, 2, 0]])


def test_iterators_numpy_strings_and_tuples_are_welcome():
    documents = (tuple(np.array(text.split())) for text in ("a b a", "b"))
    corpus = Corpus.from_tokens(documents, (1, -1), np.array(["a", "b"]))
    np.testing.assert_array_equal(corpus.counts.toarray(), [[2, 1], [0, 1]])
    assert all(type(word) is str for word in corpus.vocabulary)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok"])
@pytest.mark.parametrize("make", [sparse.coo_array, sparse.coo_matrix])
def test_any_sparse_format_will_do(kind, make):
    counts = make(np.array([[1, 0, 2], [0, 3, 0]])).asformat(kind)
    corpus = Corpus(counts, [1, -1], list("abc"))
    assert isinstance(corpus.counts, sparse.csr_array) and corpus.counts.dtype == np.float64
    np.testing.assert_array_equal(corpus.counts.toarray(), [[1, 0, 2], [0, 3, 0]])


@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64, np.int64])
def test_repeated_entries_are_added_up_in_full_width(dtype):
    entries = (np.ones(300, dtype), (np.zeros(300, int), np.tile([1, 0, 1], 100)))
    corpus = Corpus(sparse.coo_array(entries, shape=(1, 2)), [1], ["a", "b"])
    np.testing.assert_array_equal(corpus.counts.toarray(), [[100, 200]])


def test_counts_are_canonical_and_the_input_is_untouched():
    data, indices, indptr = np.array([1.0, 0.0, 2.0, 1.0]), np.array([2, 0, 2, 1]), np.array([0, 3, 4])
    given_counts = sparse.csr_array((data, indices, indptr), shape=(2, 3))
    corpus = Corpus(given_counts, [1, -1], list("abc"))
    np.testing.assert_array_equal(corpus.counts.indices, [2, 1])
    np.testing.assert_array_equal(corpus.counts.data, [3, 1])
    assert corpus.counts.indices.dtype == np.int32
    np.testing.assert_array_equal(given_counts.data, [1, 0, 2, 1])
    np.testing.assert_array_equal(given_counts.indices, [2, 0, 2, 1])


@pytest.mark.parametrize("convert", [np.array, sparse.csr_array, sparse.coo_array])
def test_the_callers_arrays_are_not_aliased(convert):
    dense = np.array([[1.0, 0.0], [1.0, 2.0]])
    counts, labels, words = convert(dense), np.array([1.0, -1.0]), ["a", "b"]
    corpus = Corpus(counts, labels, words)
    labels[:], words[0] = 5, "z"
    (counts if isinstance(counts, np.ndarray) else counts.data)[:] = 7
    np.testing.assert_array_equal(corpus.counts.toarray(), dense)
    np.testing.assert_array_equal(corpus.labels, [1, -1])
    assert corpus.vocabulary == ("a", "b")


def test_a_corpus_does_not_change():
    corpus = Corpus(**GOOD)
    for array in (corpus.counts.data, corpus.counts.indices, corpus.counts.indptr, corpus.labels, corpus.lengths):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        corpus.labels = corpus.labels


@given(corpora())
def test_pickle(corpus):
    again = pickle.loads(pickle.dumps(corpus))
    np.testing.assert_array_equal(again.counts.toarray(), corpus.counts.toarray())
    np.testing.assert_array_equal(again.labels, corpus.labels)
    np.testing.assert_array_equal(again.lengths, corpus.lengths)
    assert (again.vocabulary, again.left_out, repr(again)) == (corpus.vocabulary, corpus.left_out, repr(corpus))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"labels": [1, 0, 1]}, ["labels[1]", "0", "2 * labels - 1"]),
        ({"labels": [1, -1, 2]}, ["labels[2]", "2", "+1 or -1"]),
        ({"labels": [1, -1, np.nan]}, ["labels[2]", "nan"]),
        ({"labels": [1, None, 1]}, ["labels[1]", "None"]),
        ({"labels": ["pos", "neg", "pos"]}, ["labels[0]", "pos"]),
        ({"labels": [True, False, True]}, ["labels[1]", "2 * labels - 1"]),
        ({"labels": [1, -1]}, ["labels", "(2,)", "3 documents"]),
        ({"labels": [[1], [-1], [1]]}, ["labels", "(3, 1)"]),
        ({"labels": [[1], [1, -1], [1]]}, ["labels"]),
        ({"labels": 1}, ["labels", "()"]),
        ({"counts": [[1, 0], [0, 0], [0, 1]]}, ["counts", "row 1", "empty"]),
        ({"counts": sparse.csr_array(([1, 0, 1], [0, 0, 1], [0, 1, 2, 3]))}, ["counts", "row 1", "empty"]),
        ({"counts": [1, 2, 3]}, ["counts", "(3,)"]),
        ({"counts": sparse.coo_array(np.array([1, 2, 3]))}, ["counts", "(3,)"]),
        ({"counts": [[1, 0], [1, -2], [0, 1]]}, ["counts", "negative", "row 1"]),
        ({"counts": [[1, 0], [1, 2], [0, 0.5]]}, ["counts", "whole", "row 2"]),
        ({"counts": [[1, 0], [1, np.nan], [0, 1]]}, ["counts", "NaN", "row 1"]),
        ({"counts": sparse.csr_array([[1, 0], [1, np.inf], [0, 1]])}, ["counts", "infinity", "row 1"]),
        ({"counts": [[1, 0], [1, "x"], [0, 1]]}, ["counts", "not a number"]),
        ({"counts": [[1, 0], [1], [0, 1]]}, ["counts"]),
        ({"counts": np.zeros((0, 2)), "labels": []}, ["counts", "no row"]),
        ({"vocabulary": ["a", "a"]}, ["vocabulary", "'a' twice"]),
        ({"vocabulary": ["a", "b", "c"]}, ["vocabulary", "3 words", "2 columns"]),
        ({"vocabulary": ["a"]}, ["vocabulary", "1 words", "2 columns"]),
        ({"vocabulary": "ab"}, ["vocabulary", "str"]),
        ({"vocabulary": {"a", "b"}}, ["vocabulary", "set", "ordered"]),
        ({"vocabulary": None}, ["vocabulary", "None"]),
        ({"vocabulary": ["a", 3]}, ["vocabulary[1]", "3", "not a string"]),
    ],
)
def test_bad_corpora_are_refused_by_name(change, words):
    with pytest.raises(ValueError) as error:
        Corpus(**(GOOD | change))
    assert all(word in str(error.value) for word in words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([["a"], "a b"], [1, -1]), ["documents[1]", "str", "from_texts"]),
        (("ab", [1, -1]), ["documents[0]", "str"]),
        (([["a"], []], [1, -1]), ["documents[1]", "empty"]),
        (([["a"], ["b", 3]], [1, -1]), ["documents[1]", "3", "not a string"]),
        (([["a"], None], [1, -1]), ["documents[1]", "NoneType"]),
        (([["a"], ["b", "c"]], [1, -1], ["a", "b"]), ["documents[1]", "'c'", "not in the vocabulary"]),
        (([["c"], ["b", "c"]], [1, -1], ["a"]), ["documents[0]", "'c'"]),
        (([["a"]], [1], []), ["vocabulary", "empty"]),
        (([["a"]], [1], ["a", "b", "a"]), ["vocabulary", "'a' twice"]),
        (([["a"]], [1], "a"), ["vocabulary", "str"]),
        (([], []), ["no document"]),
        (([["a"], ["b"]], [1]), ["labels", "(1,)", "2 documents"]),
    ],
)
def test_bad_token_lists_are_refused_by_name(arguments, words):
    with pytest.raises(ValueError) as error:
        Corpus.from_tokens(*arguments)
    assert all(word in str(error.value) for word in words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"texts": ["a", None]}, ["texts[1]", "NoneType"]),
        ({"texts": ["a", ["b"]]}, ["texts[1]", "list"]),
        ({"texts": [b"a", "b"]}, ["texts[0]", "bytes"]),
        ({"texts": "ab"}, ["texts", "one string"]),
        ({"texts": ["a", "b", "c"]}, ["labels", "3 documents"]),
        ({"texts": ["a", "b"], "labels": [0, 1]}, ["labels[0]", "2 * labels - 1"]),
        ({"texts": ["a", "b"], "vocabulary": ["x", "y"]}, ["vocabulary", "no word", "2 texts"]),
        ({"texts": ["a", "b"], "vocabulary": []}, ["vocabulary", "empty"]),
        ({"texts": ["a", "b"], "min_documents": 3}, ["min_documents=3"]),
        ({"texts": ["a", "b"], "min_documents": 2}, ["min_documents=2"]),
        ({"texts": ["a", "b"], "max_vocabulary": 0}, ["max_vocabulary=0"]),
        ({"texts": ["...", " "]}, ["no token"]),
        ({"texts": [], "labels": []}, ["no document"]),
    ],
)
def test_bad_texts_are_refused_by_name(arguments, words):
    with warnings.catch_warnings(), pytest.raises(ValueError) as error:
        warnings.simplefilter("error")
        Corpus.from_texts(**({"labels": [1, -1]} | arguments))
    assert all(word in str(error.value) for word in words)


def test_from_texts_says_what_it_leaves_out():
    texts = ["good film", "", "?!", "bad film", "unknown words", "...", "", " ", "\n"]
    with pytest.warns(UserWarning, match=r"left out 7 of 9 texts with no known token: 1, 2, 4, 5, 6, \.\.\.") as seen:
        corpus = Corpus.from_texts(texts, [1, 1, -1, -1, 1, 1, 1, 1, 1], ["bad", "film", "good"])
    assert len(seen) == 1 and seen[0].filename == __file__
    assert corpus.left_out == (1, 2, 4, 5, 6, 7, 8)
    np.testing.assert_array_equal(corpus.counts.toarray(), [[0, 1, 1], [1, 1, 0]])
    np.testing.assert_array_equal(corpus.labels, [1, -1])


def test_from_texts_is_silent_when_nothing_is_left_out():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        corpus = Corpus.from_texts(["Good film", "good GOOD bad"], [1, -1])
    assert corpus.left_out == ()
    np.testing.assert_array_equal(corpus.counts.toarray(), [[0, 1, 1], [1, 0, 2]])


def test_from_texts_thins_the_vocabulary():
    texts, labels = ["a a a b c", "a b d", "a b"], [1, -1, 1]
    assert Corpus.from_texts(texts, labels, min_documents=2).vocabulary == ("a", "b")
    assert Corpus.from_texts(texts, labels, max_vocabulary=1).vocabulary == ("a",)
    assert Corpus.from_texts(texts, labels, ["b", "z"]).counts.toarray().tolist() == [[1, 0]] * 3


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("It wasn\u2019t bad.<br /><BR />9/10", ["it", "wasn't", "bad", "9", "10"]),
        ("snake_case 'quoted' rock 'n' roll", ["snake", "case", "quoted", "rock", "n", "roll"]),
        ("na\u00efve caf\u00e9 \u00dcBER", ["na\u00efve", "caf\u00e9", "\u00fcber"]),
        ("\u0641\u064a\u0644\u0645 \u200f\u202eabc\u202c", ["\u0641\u064a\u0644\u0645", "abc"]),
        ("\u05e1\u05e8\u05d8 \u05d8\u05d5\u05d1!", ["\u05e1\u05e8\u05d8", "\u05d8\u05d5\u05d1"]),
        ("\u6620\u753b\u3001\u826f\u3044", ["\u6620\u753b", "\u826f\u3044"]),
        ("a\x00b\x07c\x1b[0m\ttab\r\nline\u2028end", ["a", "b", "c", "0m", "tab", "line", "end"]),
        ("\U0001f600 good\U0001f600film \ud800", ["good", "film"]),
        ("", []),
    ],
)
def test_tokenize(text, tokens):
    assert tokenize(text) == tokens


@given(st.lists(st.text(), min_size=1, max_size=5))
def test_any_text_is_counted_or_left_out(texts):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        corpus = Corpus.from_texts(["anchor", *texts], [1] + [-1] * len(texts))
    expected = [Counter(tokenize(text)) for text in ["anchor", *texts]]
    assert corpus.left_out == tuple(i for i, words in enumerate(expected) if not words)
    rows = [{word: k for word, k in zip(corpus.vocabulary, row) if k} for row in corpus.counts.toarray()]
    assert rows == [words for words in expected if words]
