"""The two paths of `pool`: one shift for all documents, or one shift a document."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from strategies import corpora

from attnlib.pooling import pool


def limit(dtype):
    return -np.log(np.finfo(dtype).tiny) / 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(corpora(), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_the_two_paths_agree(dtype, corpus, share, seed):
    rng = np.random.default_rng(seed)
    size = corpus.counts.shape[1]
    z = rng.random(size)
    z *= share * limit(dtype) / max(np.ptp(z), 1e-9)  # up to the last spread that is taken with one shift
    z, gamma = z.astype(dtype), rng.standard_normal(size).astype(dtype)
    z = z * dtype(1 - np.finfo(dtype).eps)
    C = corpus.counts_as(dtype)
    fast = pool(C, z, gamma)
    # a token that no document holds, scored far below the others, forces the other path and changes no document
    wide = sparse.csr_array((C.data, C.indices, C.indptr), shape=(len(corpus), size + 1))
    slow = pool(wide, np.append(z, dtype(-1e5)), np.append(gamma, dtype(0)))
    assert fast.W is C and slow.W is not wide
    # either path rounds the exponent, which the spread bounds, and sums positive terms
    rtol = 4 * np.finfo(dtype).eps * (limit(dtype) + corpus.counts.shape[1])
    np.testing.assert_allclose(slow.f, fast.f, rtol=0, atol=rtol * np.abs(gamma).max())
    np.testing.assert_allclose(slow.attention().toarray()[:, :-1], fast.attention().toarray(), rtol=rtol)
    r = rng.standard_normal(len(corpus)).astype(dtype)
    size_of_terms = np.abs(r) @ fast.attention().toarray()
    for x, y in zip(slow.adjoint(r), fast.adjoint(r), strict=True):
        assert x.dtype == y.dtype == dtype
        assert (np.abs(x[:-1] - y) <= rtol * size_of_terms * (1 + 2 * np.abs(gamma).max())).all()
        assert x[-1] == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_path_changes_at_the_limit(dtype):
    C = sparse.csr_array(np.array([[1, 1]], dtype=dtype))
    below, above = dtype(np.floor(limit(dtype))), dtype(np.ceil(limit(dtype)))
    for z, one_shift in ((below, True), (above, False)):
        pooled = pool(C, np.array([0, -z], dtype), np.array([0, 1], dtype))
        assert (pooled.W is C) == one_shift
        np.testing.assert_allclose(pooled.f, np.exp(-np.float64(z)), rtol=1e-5)


@given(corpora(), st.integers(0, 2**32 - 1), st.sampled_from([1.0, 1e3, 1e6]))
def test_adjoint_is_the_transpose_of_the_derivative(corpus, seed, scale):
    rng = np.random.default_rng(seed)
    n, size = corpus.counts.shape
    z, gamma, r = scale * rng.standard_normal(size), rng.standard_normal(size), rng.standard_normal(n)
    pooled = pool(corpus.counts, z, gamma)
    A = pooled.attention().toarray()
    a, omega = pooled.adjoint(r)
    np.testing.assert_allclose(a, r @ A, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(omega, np.einsum("i,is,is->s", r, A, gamma - pooled.f[:, None]), rtol=0, atol=1e-13)
    assert omega.sum() == pytest.approx(0, abs=1e-12)  # a constant added to every score changes no f
