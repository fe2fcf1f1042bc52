"""Solving and certifying the max-margin p of a selection on a corpus as large as IMDB.

With ATTNLIB_DATA naming a folder that holds imdb.parquet, its training half; otherwise made counts of the same size.
"""

import os
import resource
import sys
import time
from pathlib import Path

import numpy as np
from scipy import sparse

sys.path.insert(0, str(Path(__file__).parents[1]))
from attnlib import Attention, Corpus, max_margin, selected


def imdb(folder):
    import pandas as pd

    reviews = pd.read_parquet(Path(folder) / "imdb.parquet").query("split == 'train'")
    return Corpus.from_texts(reviews.text, 2 * reviews.label.to_numpy() - 1, min_documents=10)


def made(n=25000, size=19000, nnz=3_400_000, seed=0):
    """Documents with Zipf-like tokens, some of which lean to one class."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], n)
    lean = rng.normal(0, 0.3, size)
    base = 1 / np.arange(10, size + 10)
    rows, columns = [], []
    for label in (-1.0, 1.0):
        documents = np.flatnonzero(y == label)
        weights = base * np.exp(label * lean)
        draws = int(1.12 * nnz * len(documents) / n)  # as many as leave about nnz distinct (document, token) pairs
        rows.append(rng.choice(documents, draws))
        columns.append(rng.choice(size, draws, p=weights / weights.sum()))
    rows, columns = np.concatenate([*rows, np.arange(n)]), np.concatenate([*columns, rng.integers(size, size=n)])
    C = sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, size)).tocsr()
    return Corpus(C, y, [f"t{s}" for s in range(size)])


def trained(corpus, d=128, steps=60, rate=0.01, seed=0):
    """(E, p) after some exact full-batch Adam steps: what p then selects is feasible by construction."""
    rng = np.random.default_rng(seed)
    v = rng.standard_normal(d)
    size = len(corpus.vocabulary)
    x = [rng.standard_normal(shape) * 0.1 / d**0.5 for shape in ((size, d), (d,))]
    mean, square = [0.0, 0.0], [0.0, 0.0]
    for k in range(1, steps + 1):
        gradients = Attention(*x, v / np.linalg.norm(v)).gradients(corpus)
        for j, g in enumerate((gradients.E, gradients.p)):
            mean[j], square[j] = 0.9 * mean[j] + 0.1 * g, 0.999 * square[j] + 0.001 * g * g
            step = mean[j] / (1 - 0.9**k) / (np.sqrt(square[j] / (1 - 0.999**k)) + 1e-8)
            x[j] = x[j] - rate * step
    return Attention(*x, v / np.linalg.norm(v))


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # MB on Linux


if __name__ == "__main__":
    folder = os.environ.get("ATTNLIB_DATA")
    corpus = imdb(folder) if folder else made()
    print("IMDB" if folder else "made data:", corpus)
    t0 = time.perf_counter()
    model = trained(corpus)
    print(f"trained (E, p) in {time.perf_counter() - t0:.1f} s, loss {model.loss(corpus):.3f}")
    problem = model.problem(corpus)
    selection = selected(problem, model.p)
    for solver in ("NNLS", "CLARABEL"):
        before, t0 = peak(), time.perf_counter()
        solution = max_margin(problem, selection, solver=solver)
        t1 = time.perf_counter()
        certificate = solution.certificate()
        t2 = time.perf_counter()
        print(
            f"{solver}: {len(solution.constraints)} constraints, solved in {t1 - t0:.2f} s, "
            f"certified in {t2 - t1:.2f} s; margin {solution.margin:.6g}, {len(solution.support)} support pairs, "
            f"peak memory {peak():.0f} MB ({peak() - before:.0f} MB more than before)\n  {certificate}"
        )
