"""Losses of the margin u = y f: logistic, exponential and correlation, each with what the log domain asks of it.

A loss ell falls strictly, ell' < 0. Training p needs of it the slope -ell', which weighs the documents, the curvature
ell''/ell'^2, which bends the gradient, and differences of values that stay right where both round to the same float.
Which of this decides the limit, and which only the way there: chapter "Other losses and nonlinear heads".
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import expit


def log_expm1(log_x) -> np.ndarray:
    """log(e^x - 1) from log x, for x > 0 of any size."""
    x = np.exp(np.minimum(log_x, 700.0))
    with np.errstate(divide="ignore"):
        return np.where(x < 1e-14, log_x, x + np.log(-np.expm1(-x)))


@dataclass(frozen=True)
class Loss(ABC):
    """ell, for margins u of any shape."""

    name: str

    @abstractmethod
    def value(self, u) -> np.ndarray:
        """ell(u)."""

    @abstractmethod
    def log_slope(self, u) -> np.ndarray:
        """log(-ell'(u))."""

    @abstractmethod
    def log_curvature(self, u) -> np.ndarray:
        """log(ell''(u) / ell'(u)^2), -inf where ell is straight."""

    @abstractmethod
    def log_drop(self, u, log_rise) -> np.ndarray:
        """log(ell(u) - ell(u + e^{log_rise}))."""

    def slope(self, u) -> np.ndarray:
        """-ell'(u)."""
        return np.exp(self.log_slope(u))


class Logistic(Loss):
    """ell(u) = log(1 + e^{-u}).

    >>> print(LOGISTIC.value(0.0) == np.log(2.0), LOGISTIC.slope(0.0))
    True 0.5
    """

    def value(self, u):
        return np.logaddexp(0, -u)

    def slope(self, u):
        return expit(-u)

    def log_slope(self, u):
        return -np.logaddexp(0, u)

    def log_curvature(self, u):
        return u

    def log_drop(self, u, log_rise):
        # log(1 + g (e^x - 1)) with g the slope at u + x; its logarithm is that of g (e^x - 1) itself where that is tiny
        inner = self.log_slope(u + np.exp(log_rise)) + log_expm1(log_rise)
        return np.where(inner < -37, inner, np.log(np.logaddexp(0, np.maximum(inner, -37))))


class Exponential(Loss):
    """ell(u) = e^{-u}."""

    def value(self, u):
        return np.exp(-u)

    def log_slope(self, u):
        return -u

    def log_curvature(self, u):
        return u

    def log_drop(self, u, log_rise):
        return -u - np.exp(log_rise) + log_expm1(log_rise)


class Correlation(Loss):
    """ell(u) = -u: every document weighs the same, however well it is classified."""

    def value(self, u):
        return -u

    def log_slope(self, u):
        return np.zeros_like(u)

    def log_curvature(self, u):
        return np.full_like(u, -np.inf)

    def log_drop(self, u, log_rise):
        return log_rise


LOGISTIC, EXPONENTIAL, CORRELATION = LOSSES = (
    Logistic("logistic"),
    Exponential("exponential"),
    Correlation("correlation"),
)
