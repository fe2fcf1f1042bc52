"""The two paths of `pool`: one shift for all documents, or one shift a document."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from strategies import corpora

from attnlib.bags import Bags
from attnlib.pooling import pool


LIMIT, EPS = -np.log(np.finfo(np.float64).tiny) / 2, np.finfo(np.float64).eps


@given(corpora(), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_the_two_paths_agree(corpus, share, seed):
    rng = np.random.default_rng(seed)
    size = corpus.counts.shape[1]
    z = rng.random(size)
    z *= (1 - EPS) * share * LIMIT / max(np.ptp(z), 1e-9)  # up to the last spread that is taken with one shift
    gamma = rng.standard_normal(size)
    C = corpus.counts
    fast = pool(corpus.bags, z, gamma)
    # a token that no document holds, scored far below the others, forces the other path and changes no document
    wide = Bags(sparse.csr_array((C.data, C.indices, C.indptr), shape=(len(corpus), size + 1)))
    slow = pool(wide, np.append(z, -1e5), np.append(gamma, 0.0))
    assert fast.W is corpus.bags and slow.W is not wide
    # either path rounds the exponent, which the spread bounds, and sums positive terms
    rtol = 4 * EPS * (LIMIT + size)
    np.testing.assert_allclose(slow.f, fast.f, rtol=0, atol=rtol * np.abs(gamma).max())
    np.testing.assert_allclose(slow.attention().toarray()[:, :-1], fast.attention().toarray(), rtol=rtol)
    r = rng.standard_normal(len(corpus))
    size_of_terms = np.abs(r) @ fast.attention().toarray()
    for x, y in zip(slow.adjoint(r), fast.adjoint(r), strict=True):
        assert (np.abs(x[:-1] - y) <= rtol * size_of_terms * (1 + 2 * np.abs(gamma).max())).all()
        assert x[-1] == 0


def test_the_path_changes_at_the_limit():
    bags = Bags(sparse.csr_array(np.array([[1.0, 1.0]])))
    for z, one_shift in ((np.floor(LIMIT), True), (np.ceil(LIMIT), False)):
        pooled = pool(bags, np.array([0, -z]), np.array([0.0, 1.0]))
        assert (pooled.W is bags) == one_shift
        np.testing.assert_allclose(pooled.f, np.exp(-z), rtol=1e-12)


@given(corpora(), st.integers(0, 2**32 - 1), st.sampled_from([1.0, 1e3, 1e6]))
def test_adjoint_is_the_transpose_of_the_derivative(corpus, seed, scale):
    rng = np.random.default_rng(seed)
    n, size = corpus.counts.shape
    z, gamma, r = scale * rng.standard_normal(size), rng.standard_normal(size), rng.standard_normal(n)
    pooled = pool(corpus.bags, z, gamma)
    A = pooled.attention().toarray()
    a, omega = pooled.adjoint(r)
    np.testing.assert_allclose(a, r @ A, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(omega, np.einsum("i,is,is->s", r, A, gamma - pooled.f[:, None]), rtol=0, atol=1e-13)
    assert omega.sum() == pytest.approx(0, abs=1e-12)  # a constant added to every score changes no f
