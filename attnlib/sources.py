"""Where corpora come from."""

import numpy as np

from .corpus import Corpus


def important_tokens(
    n: int,
    T: int,
    important: int,
    irrelevant: int,
    seed: int,
    repeats: int = 1,
    positive: float = 0.5,
    noise: float = 0.0,
    paired: bool = False,
) -> Corpus:
    """A made corpus in which one type decides the class: n documents of T tokens each.

    Every document holds exactly one of the `important` types of its class, 1 to `repeats` times (uniformly), and
    irrelevant types, drawn uniformly with replacement, in all other places. A share `positive` of the documents,
    rounded, is of class +1. Each label is then flipped with probability `noise`, tokens kept. The vocabulary is
    good0.., bad0.., other0.., whether or not a type occurs. If `paired`, documents 2k and 2k+1 are of opposite class
    and alike in all other places, so that every irrelevant type has signed frequency 0 exactly, before noise.

    >>> corpus = important_tokens(n=4, T=3, important=1, irrelevant=2, seed=0)
    >>> corpus.vocabulary
    ('good0', 'bad0', 'other0', 'other1')
    >>> corpus.counts.toarray()[:, :2].tolist() == [[y > 0, y < 0] for y in corpus.labels]
    True
    """
    for name, value, least in (("n", n, 1), ("T", T, 1), ("important", important, 1), ("repeats", repeats, 1)):
        if not least <= value < np.inf:
            raise ValueError(f"{name} is {value}, but a finite number of at least {least} is needed")
    if repeats > T or (repeats < T and irrelevant < 1) or irrelevant < 0:
        raise ValueError(f"T={T} places cannot hold repeats={repeats} of an important type and {irrelevant} others")
    for name, value in (("positive", positive), ("noise", noise)):
        if not 0 <= value <= 1:
            raise ValueError(f"{name} is {value}, but a share between 0 and 1 is needed")
    if paired and (n % 2 or positive != 0.5):
        raise ValueError(f"paired documents need an even n and positive=0.5, but n={n} and positive={positive}")
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.where(np.arange(n) < round(positive * n), 1.0, -1.0))
    alike = np.arange(n)
    if paired:
        y, alike = np.tile([1.0, -1.0], n // 2), alike // 2
    times = rng.integers(1, repeats + 1, size=n)[alike]
    C = np.zeros((n, 2 * important + irrelevant))
    C[np.arange(n), rng.integers(important, size=n) + np.where(y > 0, 0, important)] = times
    others = 2 * important + rng.integers(max(irrelevant, 1), size=(n, T))[alike]
    for i in range(n):
        np.add.at(C[i], others[i, : T - times[i]], 1)
    names = [("good", important), ("bad", important), ("other", irrelevant)]
    vocabulary = [f"{name}{k}" for name, size in names for k in range(size)]
    return Corpus(C, np.where(rng.random(n) < noise, -y, y), vocabulary)


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
