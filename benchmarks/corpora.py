"""A corpus the size of IMDB's training half: the real one, if ATTNLIB_DATA names a folder with imdb.parquet (columns
text, label 0/1, split), or a made one."""

import os
from pathlib import Path

import numpy as np
from scipy import sparse

from attnlib import Corpus


def imdb_size() -> tuple[str, Corpus]:
    """Its name, and the corpus."""
    folder = os.environ.get("ATTNLIB_DATA")
    return ("IMDB", real_corpus(folder)) if folder else ("Made", made_corpus())


def made_corpus(documents=25_000, tokens=18_900, seed=0) -> Corpus:
    """Zipf-like draws with IMDB's lengths: log-normal, mean about 227, the longest 2266, 3.4 million stored counts."""
    rng = np.random.default_rng(seed)
    lengths = np.clip(rng.lognormal(5.21, 0.64, documents), 10, 2266).astype(int)
    lengths[0] = 2266
    rank = rng.permutation(tokens)  # a vocabulary in alphabetical order: frequent tokens are not neighbours
    share = 1 / ((rank + 2.0) * (1 + rank / 3000)) ** 1.03
    drawn = np.searchsorted(np.cumsum(share / share.sum()), rng.random(lengths.sum()))
    at = np.repeat(np.arange(documents), lengths)
    counts = sparse.coo_array((np.ones(drawn.size), (at, np.minimum(drawn, tokens - 1))), shape=(documents, tokens))
    return Corpus(counts, rng.choice([-1, 1], documents), [f"t{s}" for s in range(tokens)])


def real_corpus(folder: str) -> Corpus:
    import pandas as pd

    rows = pd.read_parquet(Path(folder) / "imdb.parquet").query("split == 'train'")
    return Corpus.from_texts(rows.text, 2 * rows.label.to_numpy() - 1, min_documents=10)
