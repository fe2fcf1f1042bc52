"""Training p alone: keys, values, counts, labels. One object for both papers, right at any norm of p.

Paper A: the rows are the token types of a vocabulary, keys E, values E v, and C counts them.
Paper B: every token of every sequence is its own row, keys X W', values X v, and C is 0/1.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from . import checks
from .bags import Bags
from .losses import LOGISTIC, Loss
from .pooling import Pooled, pool
from .tail import Tail, tail


@dataclass(frozen=True, eq=False, repr=False)
class SelectionProblem:
    """L(p) = (1/n) sum_i ell(y_i f_i) with f = softmax pooling of `values` by scores z = K p.

    keys K (m, d), values gamma (m,), counts C (n, m), labels y (n,): m token rows, n documents; float64. The loss ell
    is `LOGISTIC`, log(1 + e^{-u}), or another of losses.py.

    >>> problem = SelectionProblem.from_sequences([[[1.0, 0.0], [0.0, 0.0]]], labels=[1], v=[1.0, 0.0])
    >>> problem.direction([1e6, 0.0]).tolist()     # the gradient itself is e^{-1000000} here
    [1.0, 0.0]
    """

    keys: np.ndarray
    values: np.ndarray
    counts: sparse.csr_array
    labels: np.ndarray
    ell: Loss = LOGISTIC

    def __post_init__(self):
        if not isinstance(self.ell, Loss):
            raise ValueError(f"ell is {self.ell!r}, but a loss of attnlib.losses is needed, such as LOGISTIC")
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
    def from_sequences(cls, X, labels, v, W=None, ell: Loss = LOGISTIC) -> "SelectionProblem":
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
        return cls(keys[row], (tokens @ checks.floats("v", v, (d,)))[row], C, labels, ell)

    def logits(self, p) -> np.ndarray:
        """f_i: (n,)."""
        return self._pool(p).f

    def loss(self, p) -> float:
        """L(p)."""
        return float(self.ell.value(self.labels * self.logits(p)).mean())

    def gradient(self, p) -> np.ndarray:
        """grad L(p) = -K' omega: (d,). Underflows at large |p|, where `direction` does not."""
        pooled = self._pool(p)
        y = self.labels
        _, omega = pooled.adjoint(y * self.ell.slope(y * pooled.f) / -len(y))
        return omega @ self.keys

    def direction(self, p) -> np.ndarray:
        """-grad L(p) / |grad L(p)|: (d,), or one for each point of p (k, d). It never underflows; its error is what
        rounding the scores costs, about 1e-16 times the largest."""
        return self.log_gradient(p)[0]

    def log_gradient(self, p) -> tuple[np.ndarray, np.ndarray]:
        """The unit vector -grad L / |grad L| and log |grad L|, with every weight kept as a logarithm: see tail.py.

        Their error is that of the scores times sum |W a| / |sum W a|: documents that cancel each other cost digits.
        """
        weights = self.tail(p)
        G = weights.gradient()
        if (weights.rounding(G) >= 1).any():
            raise ValueError("grad L is 0 to rounding at this p: no direction of descent")
        norm = np.linalg.norm(G, axis=-1)
        return G / norm[..., None], weights.top + np.log(norm)

    def tail(self, p) -> Tail:
        """The weights of every gradient in the log domain, at one point (d,) or several (k, d)."""
        return tail(self, self.check_point(p, (None,) * (np.ndim(p) - 1)))

    def best_token(self, z) -> np.ndarray:
        """The row with the largest score in each document, the first of several, for scores z (..., m): (..., n)."""
        u = self.counts.indices
        top = z[..., u] == np.repeat(self.maxima(z[..., u]), self.widths, axis=-1)
        first = np.minimum.reduceat(np.where(top, np.arange(u.size), u.size), self.counts.indptr[:-1], axis=-1)
        return u[first]

    def maxima(self, x) -> np.ndarray:
        """The largest entry in each document of x (..., nnz), one entry a stored count: (..., n)."""
        return np.maximum.reduceat(x, self.counts.indptr[:-1], axis=-1)

    def sums(self, x) -> np.ndarray:
        """The sum over each document of x (..., nnz), one entry a stored count: (..., n)."""
        return np.add.reduceat(x, self.counts.indptr[:-1], axis=-1)

    @cached_property
    def widths(self) -> np.ndarray:
        """The distinct tokens of each document: (n,)."""
        return np.diff(self.counts.indptr)

    @cached_property
    def distinct_key(self) -> np.ndarray:
        """The number of each row's key among the distinct keys: (m,)."""
        return np.unique(self.keys, axis=0, return_inverse=True)[1]

    @cached_property
    def bags(self) -> Bags:
        """C with its products."""
        return Bags(self.counts)

    def check_point(self, p, points=()) -> np.ndarray:
        return checks.floats("p", p, (*points, self.keys.shape[1])).astype(np.float64, copy=False)

    def _pool(self, p) -> Pooled:
        return pool(self.bags, self.keys @ self.check_point(p), self.values)
