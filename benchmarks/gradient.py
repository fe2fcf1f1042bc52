"""The gradient of (E, p) on a corpus the size of IMDB: attnlib, a padded PyTorch module, and the speed of memory.

    python benchmarks/gradient.py

The corpus is made, unless ATTNLIB_DATA names a folder with the real one: see corpora.py.
"""

import os
import resource
import time

import numpy as np
import torch
from corpora import imdb_size
from torch import nn

from attnlib import Attention, Corpus
from attnlib.reference import PaddedAttention, autograd_gradients, pad

D, REPEATS, BATCH = 128, 60, 250


def own_maximum(model: Attention, corpus: Corpus):
    """The padded module again, each batch cut to its own longest document: what a careful collate function does."""
    module, (ids, mask), lengths = PaddedAttention(model), pad(corpus), corpus.lengths.astype(int)
    y = torch.tensor(corpus.labels, dtype=module.E.dtype)
    places = 0
    for part in torch.arange(len(corpus)).split(BATCH):
        longest = lengths[part].max()
        places += len(part) * longest
        f = module(ids[part, :longest], mask[part, :longest])
        (nn.functional.softplus(-y[part] * f).sum() / len(corpus)).backward()
    return (module.E.grad.numpy(), module.p.grad.numpy()), places


def stream(C, E, out):
    """The csr arrays forward and backward and E twice, read by numpy sums; grad_E written into an array at hand."""
    for _ in range(2):
        for array in (C.data, C.indices, C.indptr, E):
            array.ravel().view(np.int32).sum(dtype=np.int32)
    out.fill(1)


def seconds(f, *args):
    start = time.perf_counter()
    result = f(*args)
    return time.perf_counter() - start, result


def row(name, times, ratio=""):
    ms = 1e3 * np.array(times)
    print(f"{name:<48}{ms.min():11.2f}{np.median(ms):11.2f}{ms.max():11.2f}{len(ms):9}  {ratio}")


def difference(x, y) -> str:
    """Of the gradients in E and p, relative to the largest entry."""
    return ", ".join(f"{name} {np.abs(a - b).max() / np.abs(b).max():.1e}" for name, a, b in zip("Ep", x, y))


def main():
    torch.set_num_threads(os.cpu_count())
    name, corpus = imdb_size()
    rng = np.random.default_rng(1)
    shapes = ((corpus.counts.shape[1], D), D, D)
    model = Attention(*(rng.standard_normal(shape).astype(np.float32) / D**0.5 for shape in shapes))
    C, out = corpus.counts_as(np.float32), np.empty_like(model.E)
    real, n = int(corpus.lengths.sum()), len(corpus)
    padded = n * int(corpus.lengths.max())
    print(f"{name}: {corpus}")
    print(f"float32, d={D}, {real:,} tokens, at most {padded // n:,} a document, {os.cpu_count()} cores\n")

    ours, memory = [], []
    for _ in range(REPEATS + 2):  # one after the other, so that both meet the same machine; the first two warm up
        ours.append(seconds(model.gradients, corpus)[0])
        memory.append(seconds(stream, C, model.E, out)[0])
    ours, memory = ours[2:], memory[2:]
    closed = model.gradients(corpus)
    wide = Attention(*(x.astype(np.float64) for x in (model.E, model.p, model.v))).gradients(corpus)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    careful, (cut, places) = seconds(own_maximum, model, corpus)
    natural, reference = seconds(autograd_gradients, model, corpus, BATCH)

    fast = min(ours)
    print(f"{'':<48}{'min ms':>11}{'median':>11}{'max':>11}{'repeats':>9}")
    row("attnlib, gradients of E and p (and v)", ours)
    row("the arrays it needs streamed through memory", memory, f"attnlib takes {fast / min(memory):.1f} times this")
    row(f"PyTorch, all padded: {padded / real:.1f} places a token", [natural], f"{natural / fast:,.0f} times attnlib")
    row(f"PyTorch, batches cut: {places / real:.1f} places a token", [careful], f"{careful / fast:,.0f} times attnlib")
    print("\nlargest difference relative to the largest entry")
    print(f"attnlib and PyTorch, all padded:   {difference(closed, reference)}")
    print(f"attnlib and PyTorch, batches cut:  {difference(closed, cut)}")
    print(f"attnlib and attnlib in float64:    {difference(closed, wide)}")
    last = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\npeak resident memory: {peak:,.0f} MB for the corpus and attnlib, {last:,.0f} MB with PyTorch")


if __name__ == "__main__":
    main()
