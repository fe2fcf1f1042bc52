"""Documents as bags of tokens: a matrix of counts, and its products with two vectors at a time.

Every pass over a corpus is C x and C y, or C' r and C' s. Such a product waits for memory, so it pays to read C once
for both vectors, as the sparse product of MKL does, which PyTorch brings. scipy's takes as long as two.
"""

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from .threads import LARGE, mkl, side_by_side


@dataclass(frozen=True, eq=False)
class Bags:
    """The counts C (n, |S|). If they are `kept` for many products, a large C is stored in halves, and C' beside it."""

    C: sparse.csr_array
    kept: bool = True

    def forward(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """C x and C y, for x and y over the vocabulary."""
        return _both(self._rows, x, y) if self._halved else (self.C @ x, self.C @ y)

    def adjoint(self, r: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """C' r and C' s, for r and s over the documents."""
        return _both(self._columns, r, s) if self._halved else (self.C.T @ r, self.C.T @ s)

    def __reduce__(self):
        return Bags, (self.C, self.kept)

    @cached_property
    def _halved(self) -> bool:
        return self.kept and self.C.nnz >= LARGE and mkl() is not None

    @cached_property
    def _rows(self) -> list:
        return _halves(self.C)

    @cached_property
    def _columns(self) -> list:
        return _halves(sparse.csr_array(self.C.T))


def _halves(C: sparse.csr_array) -> list:
    """The first and the last rows of C, with about half of its entries each, for PyTorch; the entries are shared."""
    torch, middle = mkl(), int(np.searchsorted(C.indptr, C.nnz // 2))
    halves = []
    for first, last in ((0, middle), (middle, C.shape[0])):
        entries = slice(C.indptr[first], C.indptr[last])
        arrays = (C.indptr[first : last + 1] - C.indptr[first], C.indices[entries], C.data[entries])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the arrays are read-only, and that sparse tensors are young
            parts = map(torch.from_numpy, arrays)
            halves.append(torch.sparse_csr_tensor(*parts, size=(last - first, C.shape[1])))
    return halves


def _both(halves, x, y):
    X = mkl().from_numpy(np.stack([x, y], axis=1))
    return tuple(np.ascontiguousarray(np.concatenate(side_by_side(lambda half: (half @ X).numpy(), halves, LARGE)).T))
