"""Solving and certifying the max-margin p of a selection on a corpus as large as IMDB: see corpora.py."""

import resource
import time

import numpy as np
from corpora import imdb_size

from attnlib import Attention, Corpus, max_margin, selected


def trained(corpus: Corpus, d=128, steps=60, rate=0.01, seed=0):
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
    name, corpus = imdb_size()
    print(f"{name}: {corpus}")
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
