"""Corpora made from a seed."""

import numpy as np

from .corpus import Corpus


def tilted_zipf(n: int, size: int, length: float, seed: int, positive: float = 0.5) -> Corpus:
    """n documents whose tokens follow Zipf's law, with half of the types leaning towards one label.

    Type s has frequency proportional to 1/(s+1) times 1 + y tilt_s, where tilt_s is 0 for even s and uniform on
    [-1, 1] for odd s. Lengths are 1 + Poisson(length - 1); a share `positive` of the labels, rounded, is +1.

    >>> tilted_zipf(n=100, size=50, length=20, seed=0)
    Corpus(100 documents, 50 tokens, 1213 stored counts, 50 labelled +1)
    """
    rng = np.random.default_rng(seed)
    tilt = np.where(np.arange(size) % 2, rng.uniform(-1, 1, size), 0.0)
    y = np.where(np.arange(n) < round(positive * n), 1, -1)
    counts = np.empty((n, size))
    for i, T in enumerate(1 + rng.poisson(length - 1, n)):
        weight = (1 + y[i] * tilt) / np.arange(1, size + 1)
        counts[i] = rng.multinomial(T, weight / weight.sum())
    return Corpus(counts, y, [f"t{s}" for s in range(size)])
