"""Putting residuals together."""

import numpy as np


def worst(*residuals) -> float:
    """The largest of several residuals, or of one iterable of them, and NaN if any is; Python's max may lose it.

    >>> max(0.0, float("nan")), worst(0.0, float("nan"))
    (0.0, nan)
    """
    several = residuals[0] if len(residuals) == 1 else residuals
    return float(np.max([float(residual) for residual in several]))


def relative(x, reference) -> float:
    """The largest difference, relative to the largest entry of the reference."""
    return float(np.abs(x - reference).max() / np.abs(reference).max())
