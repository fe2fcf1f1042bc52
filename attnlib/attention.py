"""The model f(X) = softmax(p' E_X') E_X v with the logistic loss: closed forms on a corpus.

Equations: chapter "The model" of the book.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit

from . import checks
from .corpus import Corpus
from .pooling import Pooled, pool
from .problem import SelectionProblem
from .threads import blas, halves, side_by_side


class Gradients(NamedTuple):
    """Gradients of the loss: E (|S|, d), p (d,), v (d,)."""

    E: np.ndarray
    p: np.ndarray
    v: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Attention:
    """Embeddings E (|S|, d), the <cls> embedding p (d,), the output vector v (d,); all float32 or all float64.

    >>> corpus = Corpus.from_tokens([["good", "film"], ["bad", "film"]], [1, -1])
    >>> model = Attention(E=[[-1.0, 2.0], [0.0, 0.0], [1.0, 2.0]], p=[0.0, 1.0], v=[1.0, 0.0])
    >>> model.logits(corpus).round(6).tolist()
    [0.880797, -0.880797]
    >>> model.attention(corpus).toarray().round(3).tolist()
    [[0.0, 0.119, 0.881], [0.881, 0.119, 0.0]]
    """

    E: np.ndarray
    p: np.ndarray
    v: np.ndarray

    def __post_init__(self):
        E = checks.floats("E", self.E, (None, None))
        p, v = (checks.floats(name, x, (E.shape[1],)) for name, x in (("p", self.p), ("v", self.v)))
        dtype = np.result_type(E, p, v)
        for name, x in (("E", E), ("p", p), ("v", v)):
            object.__setattr__(self, name, x.astype(dtype, copy=False))

    def __repr__(self) -> str:
        return f"Attention({self.E.shape[0]} tokens, d={self.E.shape[1]}, {self.E.dtype})"

    @property
    def z(self) -> np.ndarray:
        """Scores z = E p: (|S|,)."""
        return self.E @ self.p

    @property
    def gamma(self) -> np.ndarray:
        """Values gamma = E v: (|S|,)."""
        return self.E @ self.v

    def logits(self, corpus: Corpus) -> np.ndarray:
        """f_i = sum_s A_is gamma_s: (n,)."""
        return self._pool(corpus).f

    def loss(self, corpus: Corpus) -> float:
        """L = (1/n) sum_i log(1 + e^{-y_i f_i})."""
        return float(np.logaddexp(0, -corpus.labels * self.logits(corpus)).mean())

    def attention(self, corpus: Corpus) -> sparse.csr_array:
        """A, rows summing to 1: (n, |S|)."""
        return self._pool(corpus).attention()

    def gradients(self, corpus: Corpus) -> Gradients:
        """Gradients of the loss in O(nnz + |S| d).

        With g_i = sigmoid(-y_i f_i), a_s = (1/n) sum_i g_i y_i A_is and
        omega_s = (1/n) sum_i g_i y_i A_is (gamma_s - f_i):

            -grad_E L = a v' + omega p',    -grad_p L = E' omega,    -grad_v L = E' a.
        """
        self._check(corpus)
        with blas().limit(limits=1):
            coefficients = backward(self.E, self.p, self.v, corpus)[1].astype(self.E.dtype)
            grad_E, directions = np.empty_like(self.E), np.stack([self.v, self.p])

            def part(rows):
                np.matmul(np.stack(coefficients[:, rows], axis=1), directions, out=grad_E[rows])
                return [c[rows] @ self.E[rows] for c in coefficients]

            grad_v, grad_p = np.sum(side_by_side(part, halves(len(self.E)), self.E.size), axis=0)
            return Gradients(grad_E, grad_p, grad_v)

    def problem(self, corpus: Corpus) -> SelectionProblem:
        """Training p alone: the selection problem on keys E and values E v."""
        self._check(corpus)
        return SelectionProblem(self.E, self.gamma, corpus.counts, corpus.labels)

    def _pool(self, corpus: Corpus) -> Pooled:
        self._check(corpus)
        return forward(self.E, self.p, self.v, corpus)

    def _check(self, corpus: Corpus) -> None:
        if corpus.counts.shape[1] != self.E.shape[0]:
            raise ValueError(
                f"E has {self.E.shape[0]} rows, but the corpus has {corpus.counts.shape[1]} tokens: "
                "load the corpus with the vocabulary the model was made for"
            )


def forward(E, p, v, corpus: Corpus) -> Pooled:
    """The pass from the parameters to the logits, which are its `f`."""
    parts = side_by_side(lambda rows: [E[rows] @ w for w in (p, v)], halves(len(E)), E.size)
    z, gamma = np.concatenate(parts, axis=1, dtype=np.float64)
    return pool(corpus.bags, z, gamma)


def backward(E, p, v, corpus: Corpus) -> tuple[np.ndarray, np.ndarray]:
    """f (n,), and -(a, omega) (2, |S|): every gradient of the loss is a product with these."""
    pooled, y = forward(E, p, v, corpus), corpus.labels
    return pooled.f, np.stack(pooled.adjoint(y * expit(-y * pooled.f) / -len(corpus)))
