"""Exact training steps: 100 of them at IMDB's size, and the growth with the corpus up to 40 million stored counts, as
many as the official Yelp polarity set has."""

import resource
import time

import numpy as np
from bench import spread
from corpora import imdb_size, made_corpus

from attnlib import train

STEPS = 10
DOCUMENTS = (12_500, 25_000, 50_000, 100_000, 200_000, 300_000)


def step_seconds(corpus, steps) -> float:
    begun = time.perf_counter()
    train(corpus, steps=steps, progress=False)
    return (time.perf_counter() - begun) / (steps + 1)  # the last state is evaluated too


def measure(documents=DOCUMENTS) -> dict:
    name, corpus = imdb_size()
    step_seconds(corpus, 1)  # warm up, and make the products
    hundred = [step_seconds(corpus, 100) for _ in range(3)]
    growth = []
    for size in documents:
        made = made_corpus(documents=size)
        step_seconds(made, 1)
        seconds = min(step_seconds(made, STEPS) for _ in range(3))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        growth.append({"counts": made.counts.nnz, "ms": round(1e3 * seconds, 2), "peak megabytes": round(peak)})
        print(growth[-1], flush=True)
    counts, times = ([row[key] for row in growth[1:]] for key in ("counts", "ms"))
    return {
        "corpus": f"{name}: {corpus}",
        "d": 128,
        "milliseconds a step": spread(hundred),
        "growth": growth,
        "exponent": round(float(np.polyfit(np.log(counts), np.log(times), 1)[0]), 3),
    }
