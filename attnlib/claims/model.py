"""Chapter "The model"."""

import numpy as np
import torch

from ..attention import Attention
from ..reference import PaddedAttention, pad
from ..sources import tilted_zipf
from . import claim

DEFINES = ("eq-model", "eq-loss")


def instance(rng):
    """A random corpus with repeated tokens and unequal lengths, and a random model for it."""
    corpus = tilted_zipf(n=30, size=20, length=9, seed=int(rng.integers(2**31)))
    return corpus, Attention(rng.normal(size=(20, 6)), rng.normal(size=6), rng.normal(size=6))


def relative(x, reference) -> float:
    """The largest difference, relative to the largest entry of the reference."""
    return float(np.abs(x - reference).max() / np.abs(reference).max())


def padded_logits(model, corpus):
    with torch.no_grad():
        return PaddedAttention(model)(*pad(corpus)).numpy()


@claim(
    "prop-bag",
    "f = C(e^z gamma) / C e^z: the counts are all that a document tells the model.",
    source="proved here",
    kind="numeric",
    tolerance=1e-12,
    seeds=20,
)
def bag(rng):
    corpus, model = instance(rng)
    return relative(model.logits(corpus), padded_logits(model, corpus))


@bag.control("every type counts once, however often it stands there")
def _(rng):
    corpus, model = instance(rng)
    once = type(corpus)(corpus.counts.sign(), corpus.labels, corpus.vocabulary)
    return relative(model.logits(once), padded_logits(model, corpus))
