"""The door: every array is checked once, on entry, and refused with the argument and the row that is wrong."""

from collections.abc import Iterable

import numpy as np
from scipy import sparse


def floats(name: str, x, shape: tuple) -> np.ndarray:
    """A copy of `x` as a finite float array of the given shape, where None leaves a side free; float32 is kept."""
    try:
        x = np.array(x)
        x = x if x.dtype in (np.float32, np.float64) else x.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} holds something that is not a number: {error}") from error
    wanted = tuple("any" if side is None else side for side in shape)
    if x.ndim != len(shape) or any(side not in (None, got) for side, got in zip(shape, x.shape)):
        raise ValueError(f"{name} has shape {x.shape}, but shape {wanted} is needed")
    if not np.isfinite(x).all():
        raise ValueError(f"{name} has a NaN or an infinity in row {int(np.argwhere(~np.isfinite(x))[0][0])}")
    return x


def counts(C) -> sparse.csr_array:
    """`C` as a canonical float64 csr array of whole, non-negative counts with no empty row."""
    if not sparse.issparse(C):
        C = floats("counts", C, (None, None))
    if C.ndim != 2:
        raise ValueError(f"counts has shape {C.shape}, but two sides are needed: documents and tokens")
    C = sparse.csr_array(C.astype(np.float64))  # a copy, and wide before repeated entries are added up
    C.sum_duplicates()
    rows = np.repeat(np.arange(C.shape[0]), np.diff(C.indptr))
    for wrong, what in (
        (~np.isfinite(C.data), "a NaN or an infinity"),
        (C.data < 0, "a negative count"),
        (C.data != np.floor(C.data), "a count that is not a whole number"),
    ):
        if wrong.any():
            raise ValueError(f"counts has {what} in row {rows[wrong][0]}")
    C.eliminate_zeros()
    if C.shape[0] == 0:
        raise ValueError("counts has no row: a corpus needs at least one document")
    empty = np.flatnonzero(np.diff(C.indptr) == 0)
    if empty.size:
        raise ValueError(f"counts row {empty[0]} is empty ({empty.size} in all): every document needs a token")
    if max(C.nnz, *C.shape) < np.iinfo(np.int32).max:  # half the memory traffic of 64-bit indices
        C.indices, C.indptr = C.indices.astype(np.int32), C.indptr.astype(np.int32)
    return C


def labels(y, n: int) -> np.ndarray:
    """`y` as n float64 labels, each +1 or -1."""
    try:
        y = np.asarray(y)
    except ValueError as error:
        raise ValueError(f"labels holds something that is not a label: {error}") from error
    if y.shape != (n,):
        raise ValueError(f"labels has shape {y.shape}, but there are {n} documents: shape ({n},) is needed")
    wrong = np.flatnonzero(~np.isin(y, (-1, 1)))
    if wrong.size:
        hint = "; labels 0/1 become -1/+1 by 2 * labels - 1" if np.isin(y, (0, 1)).all() else ""
        raise ValueError(f"labels[{wrong[0]}] is {y[wrong[0]]!r}, but every label must be +1 or -1{hint}")
    return y.astype(np.float64)


def vocabulary(words, size: int | None = None) -> tuple[str, ...]:
    """`words` as a tuple of distinct strings, `size` of them if given."""
    if isinstance(words, (str, set, frozenset)) or not isinstance(words, Iterable):
        raise ValueError(f"vocabulary is of type {type(words).__name__}; an ordered sequence of strings is needed")
    words = tuple(str(word) if isinstance(word, str) else word for word in words)
    for s, word in enumerate(words):
        if not isinstance(word, str):
            raise ValueError(f"vocabulary[{s}] is {word!r}, which is not a string")
    if len(set(words)) < len(words):
        seen = set()
        twice = next(word for word in words if word in seen or seen.add(word))
        raise ValueError(f"vocabulary holds {twice!r} twice")
    if size is not None and len(words) != size:
        raise ValueError(f"vocabulary has {len(words)} words, but counts has {size} columns")
    return words
