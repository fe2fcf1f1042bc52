"""The small problems of the max-margin paper's figures, and one of ours with two limits, all with keys in the plane.

The paper's key map drops the coordinate that holds the score, so p lives in two dimensions.
"""

import numpy as np

from .problem import SelectionProblem

PLANE = np.eye(2, 3)  # the key map: the first two of three coordinates


def figure1(panel: str) -> SelectionProblem:
    """The data of Figure 1: panel "a" or "b" (one document of three tokens) or "c" (three documents of seven).

    >>> figure1("b").values.tolist()
    [1.0, 0.9, 0.0]
    """
    if panel not in ("a", "b", "c"):
        raise ValueError(f"panel is {panel!r}, but 'a', 'b' or 'c' is needed")
    X = _random_documents() if panel == "c" else [[[-0.1, 1, 1], [1, 0, 0.9], [0, 0, 0.9 if panel == "a" else 0.0]]]
    return SelectionProblem.from_sequences(X, np.ones(len(X)), v=[0.0, 0.0, 1.0], W=PLANE)


def _random_documents() -> np.ndarray:
    import torch  # its generator made the paper's numbers; nothing else here needs it

    X = 0.2 * torch.randn(3, 7, 3, generator=torch.Generator().manual_seed(0)).numpy().astype(np.float64)
    X[:, 0, :2] += (1.0, 0.0)
    X[:, 1:4, :2] += (-1.0, 1.0)
    X[:, 4:, :2] += (-0.5, -0.5)
    X[..., 2] = 0.5
    X[:, 0, 2] = 1.0
    return X


def two_limits(second=(-2.0, 1.0)) -> SelectionProblem:
    """Two documents {(1, 0), 0} and {`second`, 0}; in each the first token has label-score 1 and the other 0.

    With (-2, 1) flow from 0 goes to the max-margin direction of the optimal tokens, (1, 3), and from (0, -4) to that of
    another selection, (1, 0): a concrete instance of the paper's Figure 8, whose numbers are not published.
    """
    a, b = second
    if b == 0:
        raise ValueError("second lies on the line of (1, 0): no v gives both tokens the value 1")
    return SelectionProblem.from_sequences([[[1.0, 0.0], [0.0, 0.0]], [[a, b], [0.0, 0.0]]], [1, 1], [1.0, (1 - a) / b])
