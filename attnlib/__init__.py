"""How attention chooses tokens: the exact bag-of-tokens mathematics behind the book."""

from .attention import Attention
from .corpus import Corpus
from .one_step import one_step, posterior_difference, remainder_bound, signed_frequency
from .problem import SelectionProblem

__all__ = [
    "Attention",
    "Corpus",
    "SelectionProblem",
    "one_step",
    "posterior_difference",
    "remainder_bound",
    "signed_frequency",
]
__version__ = "0.1.0"
