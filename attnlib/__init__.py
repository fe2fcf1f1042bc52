"""How attention chooses tokens: the exact bag-of-tokens mathematics behind the book."""

from .assumptions import Violated
from .attention import Attention
from .cones import cone_constants, published_constants
from .corpus import Corpus
from .descent import descend, regularization_path
from .flow import gradient_flow
from .losses import CORRELATION, EXPONENTIAL, LOGISTIC
from .margin import label_margin, max_margin
from .nonconvex import max_margin_any
from .one_step import one_step, posterior_difference, remainder_bound, signed_frequency
from .optimality import is_locally_optimal, neighbours, optimal_tokens, selected
from .problem import SelectionProblem
from .reviews import load_corpus
from .shortest import Infeasible
from .smoothness import smoothness
from .sources import important_tokens
from .training import train

__all__ = [
    "CORRELATION",
    "EXPONENTIAL",
    "LOGISTIC",
    "Attention",
    "Corpus",
    "Infeasible",
    "SelectionProblem",
    "Violated",
    "cone_constants",
    "descend",
    "gradient_flow",
    "important_tokens",
    "is_locally_optimal",
    "label_margin",
    "load_corpus",
    "max_margin",
    "max_margin_any",
    "neighbours",
    "one_step",
    "optimal_tokens",
    "posterior_difference",
    "published_constants",
    "regularization_path",
    "remainder_bound",
    "selected",
    "signed_frequency",
    "smoothness",
    "train",
]
__version__ = "0.1.0"
