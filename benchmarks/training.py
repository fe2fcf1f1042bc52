"""Exact training steps on corpora of growing size: milliseconds a step, memory, and the exponent of the growth.

    python benchmarks/training.py

The largest has about 40 million stored counts, as many as the official Yelp polarity set.
"""

import resource
import time

import numpy as np
from corpora import made_corpus

from attnlib import train

STEPS = 10


def main():
    print(f"{'documents':>10} {'counts':>12} {'ms a step':>10} {'peak MB':>9}")
    counts, times = [], []
    for documents in (12_500, 25_000, 50_000, 100_000, 200_000, 300_000):
        corpus = made_corpus(documents=documents)
        train(corpus, steps=1, progress=False)  # warm up, and make the float32 counts
        begun = time.perf_counter()
        train(corpus, steps=STEPS, progress=False)
        counts.append(corpus.counts.nnz)
        times.append((time.perf_counter() - begun) / (STEPS + 1))  # the last state is evaluated too
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{documents:>10,} {counts[-1]:>12,} {1e3 * times[-1]:>10.1f} {peak:>9,.0f}", flush=True)
    slope = np.polyfit(np.log(counts[1:]), np.log(times[1:]), 1)[0]
    print(f"time grows like counts^{slope:.2f} (d = 128; the update of E, which does not grow, is part of it)")


if __name__ == "__main__":
    main()
