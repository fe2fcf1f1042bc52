"""The gradient of (E, p) on a corpus the size of IMDB: attnlib, PyTorch written three ways, and the speed of memory."""

import os
import resource
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from bench import in_turn, ratio, spread
from corpora import imdb_size
from torch import nn

from attnlib import Attention, Corpus
from attnlib.reference import PaddedAttention, autograd_gradients, pad

D, ROUNDS, BATCH = 128, 60, 250


def cut_batches(model: Attention, corpus: Corpus):
    """The padded module, each batch cut to its own longest document: what a careful collate function does."""
    module, (ids, mask), lengths = PaddedAttention(model), pad(corpus), corpus.lengths.astype(int)
    y = torch.tensor(corpus.labels, dtype=module.E.dtype)
    for part in torch.arange(len(corpus)).split(BATCH):
        longest = lengths[part].max()
        f = module(ids[part, :longest], mask[part, :longest])
        (nn.functional.softplus(-y[part] * f).sum() / len(corpus)).backward()
    return module.E.grad.numpy(), module.p.grad.numpy()


class Gather:
    """What a good hand makes of it in PyTorch: two numbers a token are gathered, not d, and no place is padded."""

    def __init__(self, model: Attention, corpus: Corpus):
        C = corpus.counts
        self.parameters = [torch.tensor(x, requires_grad=True) for x in (model.E, model.p, model.v)]
        self.types = torch.from_numpy(np.repeat(C.indices, C.data.astype(int)).astype(np.int64))
        self.document = torch.from_numpy(np.repeat(np.arange(len(corpus)), corpus.lengths.astype(int)))
        self.y = torch.tensor(corpus.labels, dtype=torch.float32)

    def gradients(self):
        E, p, v = self.parameters
        for x in self.parameters:
            x.grad = None
        z, gamma = E @ p, E @ v
        weight = torch.exp(z - z.detach().max())[self.types]
        total, said = torch.zeros_like(self.y), torch.zeros_like(self.y)
        total = total.index_add(0, self.document, weight)
        said = said.index_add(0, self.document, weight * gamma[self.types])
        nn.functional.softplus(-self.y * said / total).mean().backward()
        return E.grad.numpy(), p.grad.numpy()


def stream(C, E, out, side: ThreadPoolExecutor):
    """The counts and their places twice, and E twice, read by sums in two threads; the gradient of E written."""

    def half(k):
        for _ in range(2):
            for array in (C.data, C.indices, E.ravel()):
                np.array_split(array, 2)[k].view(np.int32).sum(dtype=np.int32)
        np.array_split(out, 2)[k].fill(1)

    other = side.submit(half, 1)
    half(0)
    other.result()


def difference(x, y) -> float:
    """Of the gradients in E and p, relative to the largest entry."""
    return float(max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(x, y)))


def measure(rounds: int = ROUNDS, slow: int = 3) -> dict:
    torch.set_num_threads(os.cpu_count())
    name, corpus = imdb_size()
    rng = np.random.default_rng(1)
    shapes = ((corpus.counts.shape[1], D), D, D)
    model = Attention(*(rng.standard_normal(shape).astype(np.float32) / D**0.5 for shape in shapes))
    C, out, gather = corpus.counts, np.empty_like(model.E), Gather(model, corpus)
    moved = 2 * (C.data.nbytes + C.indices.nbytes + model.E.nbytes) + out.nbytes
    with ThreadPoolExecutor(1) as side:
        quick = in_turn(
            {
                "attnlib": lambda: model.gradients(corpus),
                "memory": lambda: stream(C, model.E, out, side),
            },
            rounds,
            warm=3,
        )
    # apart: PyTorch's threads spin for a while after its work, on the cores that the others need
    quick |= in_turn({"gather": gather.gradients}, rounds // 4)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    kept = {}
    routes = {
        "cut": lambda: kept.update(cut=cut_batches(model, corpus)),
        "padded": lambda: kept.update(padded=autograd_gradients(model, corpus, BATCH)),
    }
    long = in_turn(routes, slow, warm=0)
    closed = model.gradients(corpus)
    wide = Attention(*(x.astype(np.float64) for x in (model.E, model.p, model.v))).gradients(corpus)
    return {
        "corpus": f"{name}: {corpus}",
        "d": D,
        "milliseconds": {route: spread(times) for route, times in (quick | long).items()},
        "ratios": {
            "attnlib / memory": ratio(quick["attnlib"], quick["memory"]),
            "gather / attnlib": ratio(quick["gather"], [np.median(quick["attnlib"])] * (rounds // 4)),
            "cut / attnlib": ratio(long["cut"], [np.median(quick["attnlib"])] * slow),
            "padded / attnlib": ratio(long["padded"], [np.median(quick["attnlib"])] * slow),
        },
        "megabytes moved": round(moved / 1e6, 1),
        "gigabytes a second": round(moved / 1e9 / min(quick["memory"]), 1),
        "peak megabytes": round(peak),
        "off float64": {
            "attnlib": difference(closed, wide),
            "gather": difference(gather.gradients(), wide),
            **{route: difference(gradients, wide) for route, gradients in kept.items()},
        },
    }
