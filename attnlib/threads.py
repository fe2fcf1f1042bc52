"""Two threads for the work on a large corpus, and none that spins.

Libraries of dense and sparse products keep threads of their own, which wait for the next product by spinning on the
cores that the step between two products needs. Here each product runs in one thread, and two products run side by side:
what a thread computes does not depend on how many cores there are, so neither do the bits of a result.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from threadpoolctl import ThreadpoolController

LARGE = 300_000  # numbers read: below, handing work to a thread takes longer than the work


def side_by_side(work, parts, size: int) -> list:
    """work(part) for each of two parts; in two threads if they read a `LARGE` size of numbers together."""
    if size < LARGE:
        return [work(part) for part in parts]
    first, second = parts
    with _alone():
        other = _second_thread().submit(work, second)
        return [work(first), other.result()]


def halves(n: int) -> tuple[slice, slice]:
    """n rows in two parts."""
    return slice(0, n // 2), slice(n // 2, n)


@cache
def blas() -> ThreadpoolController:
    """For `with blas().limit(limits=1)`: dense products that stay in the thread that asks for them."""
    return ThreadpoolController()


@cache
def mkl():
    """PyTorch, if it is there and has the sparse products of MKL; else None."""
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.backends.mkl.is_available() else None


def _alone():
    """From now on, and until the end of a `with`, this thread's sparse products stay in it. Those of other threads,
    which a user may want to be many, are untouched."""
    if torch := mkl():
        torch.get_num_threads()  # by which PyTorch takes its own number for this thread, once; now it can be overruled
    return _openmp().limit(limits=1)


@cache
def _openmp() -> ThreadpoolController:
    mkl()  # a controller knows the libraries that are loaded
    return ThreadpoolController().select(user_api="openmp")


@cache
def _second_thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "attnlib", initializer=_alone)


# a forked process has the pool, but not its thread
os.register_at_fork(after_in_child=_second_thread.cache_clear)
