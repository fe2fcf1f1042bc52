"""Products with a large count matrix: in halves and threads, with what scipy gives, and without a trace."""

import copy
import os
import pickle
import threading

import numpy as np
import pytest
import torch
from scipy import sparse

from attnlib import Attention, Corpus, bags, threads
from attnlib.bags import Bags
from attnlib.sources import tilted_zipf

# documents x tokens: usual; one document; a vocabulary of one; two long documents; many empty rows in the transpose
SHAPES = {(3000, 2000): 0.1, (1, 400_000): 1.0, (400_000, 1): 1.0, (2, 400_000): 0.9, (2000, 500_000): 5e-4}


def made(shape, seed=0) -> sparse.csr_array:
    C = sparse.random_array(shape, density=SHAPES[shape], rng=np.random.default_rng(seed), format="csr")
    C.data = np.ceil(9 * C.data)
    assert C.nnz >= threads.LARGE
    return sparse.csr_array((C.data, C.indices.astype(np.int32), C.indptr.astype(np.int32)), shape=shape)


@pytest.fixture(scope="module")
def corpus():
    """Large enough for halves and threads."""
    corpus = tilted_zipf(n=4000, size=3000, length=150, seed=0)
    assert corpus.counts.nnz >= threads.LARGE
    return corpus


@pytest.mark.parametrize("shape", SHAPES)
def test_products_in_halves_are_those_of_scipy(shape):
    C, rng = made(shape), np.random.default_rng(1)
    (n, size), made_bags = shape, Bags(C)
    x, y, r, s = (rng.standard_normal(k) for k in (size, size, n, n))
    assert made_bags._halved
    found = (*made_bags.forward(x, y), *made_bags.adjoint(r, s))
    for product, M, w in zip(found, (C, C, C.T, C.T), (x, y, r, s), strict=True):
        assert product.flags.c_contiguous and product.dtype == np.float64
        assert (np.abs(product - M @ w) <= 1e-13 * (abs(M) @ np.abs(w))).all()


def test_without_pytorch_the_products_are_the_same(monkeypatch, corpus):
    C, rng = corpus.counts, np.random.default_rng(0)
    x, y, r, s = (rng.standard_normal(k) for k in (C.shape[1], C.shape[1], len(corpus), len(corpus)))
    quick = (*Bags(C).forward(x, y), *Bags(C).adjoint(r, s))
    monkeypatch.setattr(bags, "mkl", lambda: None)
    plain = Bags(C)
    assert not plain._halved
    for found, expected in zip(quick, (*plain.forward(x, y), *plain.adjoint(r, s)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def test_large_gradients_are_those_of_the_parts(corpus):
    """One corpus in two threads against its quarters, each small enough for one thread and plain products."""
    rng, n, size, d = np.random.default_rng(0), *corpus.counts.shape, 128
    model = Attention(*(0.3 * rng.standard_normal(shape) for shape in ((size, d), d, d)))
    whole = model.gradients(corpus)
    quarters = [Corpus(corpus.counts[k::4], corpus.labels[k::4], corpus.vocabulary) for k in range(4)]
    assert all(quarter.counts.nnz < threads.LARGE for quarter in quarters) and model.E.size >= threads.LARGE
    for name, found, *parts in zip("Epv", whole, *(model.gradients(quarter) for quarter in quarters), strict=True):
        expected = sum(len(quarter) / n * part for quarter, part in zip(quarters, parts, strict=True))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * np.abs(expected).max(), err_msg=name)


def test_sums_over_many_documents_keep_the_digits_of_float32(corpus):
    """Summed in float32 they would be off by 1e-5."""
    rng, size, d = np.random.default_rng(0), corpus.counts.shape[1], 128
    wide = [0.3 * rng.standard_normal(shape).astype(np.float32) for shape in ((size, d), d, d)]
    exact = Attention(*(x.astype(np.float64) for x in wide)).gradients(corpus)
    for name, found, expected in zip("Epv", Attention(*wide).gradients(corpus), exact, strict=True):
        assert found.dtype == np.float32
        assert np.abs(found - expected).max() <= 3e-6 * np.abs(expected).max(), name


def test_kept_products_are_not_pickled(corpus):
    before = len(pickle.dumps(corpus))
    corpus.bags.forward(*np.ones((2, corpus.counts.shape[1])))
    again = pickle.loads(pickle.dumps(corpus))
    assert len(pickle.dumps(corpus)) <= 1.01 * before + 1000
    r = np.ones((2, len(corpus)))
    np.testing.assert_array_equal(again.bags.adjoint(*r), copy.deepcopy(corpus).bags.adjoint(*r))


def test_the_threads_of_the_user_are_left_alone(corpus):
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        corpus.bags.forward(*np.ones((2, corpus.counts.shape[1])))
        assert torch.get_num_threads() == 2
        inside = threads.side_by_side(lambda _: (torch.get_num_threads(), threading.get_ident()), (0, 1), threads.LARGE)
    finally:
        torch.set_num_threads(before)
    assert [count for count, _ in inside] == [1, 1] and len({ident for _, ident in inside}) == 2


def test_little_work_stays_in_its_thread():
    here = threading.get_ident()
    assert threads.side_by_side(lambda _: threading.get_ident(), (0, 1), threads.LARGE - 1) == [here, here]


def test_an_error_in_either_thread_is_raised():
    def work(part):
        if part == bad:
            raise MemoryError(part)

    for bad in (0, 1):
        with pytest.raises(MemoryError, match=str(bad)):
            threads.side_by_side(work, (0, 1), threads.LARGE)


@pytest.mark.filterwarnings("ignore:This process")  # that fork and threads do not go together is the point
def test_a_forked_process_has_threads_of_its_own(corpus):
    r = np.ones((2, len(corpus)))
    expected = corpus.bags.adjoint(*r)
    pid = os.fork()
    if pid == 0:
        try:
            same = np.array_equal(corpus.bags.adjoint(*r), expected)
            os._exit(0 if same else 1)
        finally:
            os._exit(2)
    watch = threading.Timer(60, os.kill, (pid, 9))
    watch.start()
    _, status = os.waitpid(pid, 0)
    watch.cancel()
    assert os.waitstatus_to_exitcode(status) == 0
