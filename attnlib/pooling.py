"""The softmax of a bag of tokens, forward and backward, from vectors over the vocabulary alone.

With scores z and values gamma over the vocabulary, document i attends to token s with mass

    A_is = C_is e^{z_s} / sum_u C_iu e^{z_u}        and returns        f_i = sum_s A_is gamma_s.

`pool` computes f in O(nnz); its adjoint turns weights r over documents into the two vectors over the vocabulary that
every gradient of the book is made of. No array with documents x length x dimension entries is ever built. The sums
over a document, and over the documents of a token, are taken in float64, whatever the precision of the embeddings.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .bags import Bags


@dataclass(frozen=True, eq=False)
class Pooled:
    """A = diag(1/S) W diag(e), never formed, and the pooled values f = A gamma."""

    W: Bags
    e: np.ndarray
    S: np.ndarray
    gamma: np.ndarray
    f: np.ndarray

    def adjoint(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(a, omega) with a_s = sum_i r_i A_is and omega_s = sum_i r_i A_is (gamma_s - f_i), both (|S|,)."""
        r = r / self.S
        a, af = self.W.adjoint(r, r * self.f)
        a = self.e * a
        return a, a * self.gamma - self.e * af

    def attention(self) -> sparse.csr_array:
        """A itself, one row a document, one stored entry a distinct token: (n, |S|)."""
        W = self.W.C
        A = W.data * self.e[W.indices] / np.repeat(self.S, np.diff(W.indptr))
        return sparse.csr_array((A, W.indices.copy(), W.indptr.copy()), shape=W.shape)


def pool(bags: Bags, z: np.ndarray, gamma: np.ndarray) -> Pooled:
    """Attention over bags (n, |S|) with scores z and values gamma, both (|S|,)."""
    # One shift for all documents is safe while e^{z - max z} keeps clear of underflow everywhere. Otherwise each
    # document is shifted by its own maximum, or one whose tokens all score low would become 0/0.
    if np.ptp(z) <= -np.log(np.finfo(np.float64).tiny) / 2:
        W, e = bags, np.exp(z - z.max())
    else:
        C = bags.C
        scores = z[C.indices]
        shift = np.repeat(np.maximum.reduceat(scores, C.indptr[:-1]), np.diff(C.indptr))
        W = Bags(sparse.csr_array((C.data * np.exp(scores - shift), C.indices, C.indptr), shape=C.shape), kept=False)
        e = np.ones_like(z)
    S, N = W.forward(e, e * gamma)
    return Pooled(W, e, S, gamma, N / S)
