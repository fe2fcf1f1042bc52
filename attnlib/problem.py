"""Training p alone: keys, values, counts, labels. One object for both papers, right at any norm of p.

Paper A: the rows are the token types of a vocabulary, keys E, values E v, and C counts them.
Paper B: every token of every sequence is its own row, keys X W', values X v, and C is 0/1.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.special import expit

from . import checks
from .pooling import Pooled, pool


@dataclass(frozen=True, eq=False, repr=False)
class SelectionProblem:
    """L(p) = (1/n) sum_i log(1 + e^{-y_i f_i}) with f = softmax pooling of `values` by scores z = K p.

    keys K (m, d), values gamma (m,), counts C (n, m), labels y (n,): m token rows, n documents; float64.

    >>> problem = SelectionProblem.from_sequences([[[1.0, 0.0], [0.0, 0.0]]], labels=[1], v=[1.0, 0.0])
    >>> problem.direction([1e6, 0.0]).tolist()     # the gradient itself is e^{-1000000} here
    [1.0, 0.0]
    """

    keys: np.ndarray
    values: np.ndarray
    counts: sparse.csr_array
    labels: np.ndarray

    def __post_init__(self):
        K = checks.floats("keys", self.keys, (None, None)).astype(np.float64, copy=False)
        gamma = checks.floats("values", self.values, (K.shape[0],)).astype(np.float64, copy=False)
        C = checks.counts(self.counts)
        if C.shape[1] != K.shape[0]:
            raise ValueError(f"counts has {C.shape[1]} columns, but keys has {K.shape[0]} rows: one column a row")
        y = checks.labels(self.labels, C.shape[0])
        for name, x in (("keys", K), ("values", gamma), ("counts", C), ("labels", y)):
            object.__setattr__(self, name, x)

    def __repr__(self) -> str:
        n, m = self.counts.shape
        return f"SelectionProblem({n} documents, {m} token rows, d={self.keys.shape[1]})"

    @classmethod
    def from_sequences(cls, X, labels, v, W=None) -> "SelectionProblem":
        """Sequences X (n, T, d), head v (d,), key map W (k, d) or None for the identity: keys X W', values X v.

        Token t of sequence i is row i * T + t. Equal tokens get equal keys and values to the last bit: the products are
        taken once for each distinct token, as a blocked product may round equal rows differently.
        """
        X = checks.floats("X", X, (None, None, None)).astype(np.float64, copy=False)
        n, T, d = X.shape
        if T == 0:
            raise ValueError("X has sequences of length 0: every document needs a token")
        tokens, row = np.unique(X.reshape(n * T, d), axis=0, return_inverse=True)
        keys = tokens if W is None else tokens @ checks.floats("W", W, (None, d)).T
        indptr = np.arange(0, n * T + 1, T)
        C = sparse.csr_array((np.ones(n * T), np.arange(n * T), indptr), shape=(n, n * T))
        return cls(keys[row], (tokens @ checks.floats("v", v, (d,)))[row], C, labels)

    def logits(self, p) -> np.ndarray:
        """f_i: (n,)."""
        return self._pool(p).f

    def loss(self, p) -> float:
        """L(p)."""
        return float(np.logaddexp(0, -self.labels * self.logits(p)).mean())

    def gradient(self, p) -> np.ndarray:
        """grad L(p) = -K' omega: (d,). Underflows at large |p|, where `direction` does not."""
        pooled = self._pool(p)
        y = self.labels
        _, omega = pooled.adjoint(y * expit(-y * pooled.f) / -len(y))
        return omega @ self.keys

    def direction(self, p) -> np.ndarray:
        """-grad L(p) / |grad L(p)|, right at any norm of p: (d,)."""
        return self.log_gradient(p)[0]

    def log_gradient(self, p) -> tuple[np.ndarray, float]:
        """The unit vector -grad L / |grad L| and log |grad L|, with every weight kept as a logarithm.

        Reference-token form: with r the best-scoring token of document i,

            -grad L = (1/n) sum_i g_i y_i sum_{u != r} A_iu (f_i - gamma_u) (K_r - K_u),

        where f_i - gamma_u = (gamma_r - gamma_u) - delta_i and delta_i = sum_u A_iu (gamma_r - gamma_u), which is
        kept as e^{m_i} D_i: where gamma_u = gamma_r it is all there is, and may be far below the smallest float.
        A token whose key is K_r itself adds exactly 0, and is left out lest its weight drown the others.
        """
        K, gamma, y, i, u = self.keys, self.values, self.labels, self._documents, self.counts.indices
        z = K @ self._p(p)
        best = self.best_token(z)
        log_A = np.log(self.counts.data) + z[u] - z[best][i]
        log_A -= np.log(self._sum(np.exp(log_A)))[i]
        gap = gamma[best][i] - gamma[u]
        differs = gap != 0
        m = self._max(np.where(differs, log_A, -np.inf))  # -inf if all have one value: D is then 0
        D = self._sum(np.exp(np.where(differs, log_A - m[i], -np.inf)) * gap)
        delta = np.exp(m) * D
        log_g = -np.logaddexp(0, y * (gamma[best] - delta))
        log_w = log_A + log_g[i] + np.where(differs, 0.0, m[i])
        w = y[i] * np.where(differs, gap - delta[i], -D[i]) / len(y)
        live = (w != 0) & (self._distinct_key[u] != self._distinct_key[best[i]])
        if not live.any():
            raise ValueError("grad L is 0: in every document all tokens have one value, or all have one key")
        top = log_w[live].max()
        w = np.where(live, w * np.exp(np.minimum(log_w - top, 0.0)), 0.0)
        omega = np.bincount(best[i], w, len(gamma)) - np.bincount(u, w, len(gamma))
        G = omega @ K
        norm = np.linalg.norm(G)
        if norm <= np.finfo(float).eps * np.abs(w).sum() * np.abs(K).max():
            raise ValueError("grad L is 0 to rounding at this p: no direction of descent")
        return G / norm, float(top + np.log(norm))

    def best_token(self, z) -> np.ndarray:
        """The row with the largest score in each document, the first of several: (n,)."""
        C = self.counts
        at = np.flatnonzero(z[C.indices] == self._max(z[C.indices])[self._documents])[::-1]
        best = np.empty(C.shape[0], dtype=C.indices.dtype)
        best[self._documents[at]] = C.indices[at]  # reversed, so that the first of several is written last
        return best

    def _p(self, p) -> np.ndarray:
        return checks.floats("p", p, (self.keys.shape[1],)).astype(np.float64, copy=False)

    def _pool(self, p) -> Pooled:
        return pool(self.counts, self.keys @ self._p(p), self.values)

    @cached_property
    def _documents(self) -> np.ndarray:
        """The document of each stored count."""
        return np.repeat(np.arange(self.counts.shape[0]), np.diff(self.counts.indptr))

    @cached_property
    def _distinct_key(self) -> np.ndarray:
        """The number of each row's key among the distinct keys."""
        return np.unique(self.keys, axis=0, return_inverse=True)[1]

    def _max(self, x) -> np.ndarray:
        return np.maximum.reduceat(x, self.counts.indptr[:-1])

    def _sum(self, x) -> np.ndarray:
        return np.add.reduceat(x, self.counts.indptr[:-1])
