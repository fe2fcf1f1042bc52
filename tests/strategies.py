"""Random corpora, models and selection problems, and the dense softmax they are all compared with."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from scipy.special import expit, softmax

from attnlib import Attention, Corpus, SelectionProblem

# Sixteenths between -2 and 2. Products and short sums of them are exact in either precision, also after scaling by a
# power of two: scores and values are then free of rounding, ties are frequent, and what a test sees is the softmax.
grid = st.integers(-32, 32).map(lambda k: k / 16)
floats = st.floats(-2, 2).map(lambda x: round(x, 9))  # off the grid; 1e-200 is not a value anyone trains
MAGNITUDES = [0.0, 1e-6, 1e-2, 1.0, 20.0, 80.0, 300.0, 400.0, 2000.0, 1e6]


def arrays(shape, elements):
    """Every entry drawn on its own: hypothesis would fill most of a large array with one value."""
    return hnp.arrays(np.float64, shape, elements=elements, fill=st.nothing())


@st.composite
def corpora(draw, min_vocabulary=1, length=None, max_length=12, max_documents=6):
    """Up to six documents of 1 to 12 tokens (or all of one length) over up to 10 tokens, some repeated, some unused."""
    size = draw(st.integers(min_vocabulary, 10))
    used = draw(st.integers(min_vocabulary, size))
    document = st.lists(st.integers(0, used - 1), min_size=length or 1, max_size=length or max_length)
    documents = draw(st.lists(document, min_size=1, max_size=max_documents))
    order = draw(st.permutations(range(size)))
    counts = np.array([np.bincount([order[s] for s in document], minlength=size) for document in documents])
    labels = draw(st.lists(st.sampled_from([-1, 1]), min_size=len(documents), max_size=len(documents)))
    return Corpus(counts, labels, [f"t{s}" for s in range(size)])


@st.composite
def models(draw, size, elements=grid, magnitude=None):
    """E, p, v with entries from `elements`; p scaled by a power of two so that max |z| is just below a magnitude."""
    d = draw(st.integers(1, 6))
    E, p, v = (draw(arrays(shape, elements)) for shape in ((size, d), d, d))
    largest = np.abs(E @ p).max()
    target = draw(st.sampled_from(MAGNITUDES)) if magnitude is None else magnitude
    if target == 0 or largest < 1e-3:  # the second: what is left of the scores is rounding
        return Attention(E, np.zeros(d), v)
    return Attention(E, p * 2.0 ** np.floor(np.log2(target / largest)), v)


@st.composite
def cases(draw, elements=grid, magnitude=None, **shape):
    """A corpus and a model for it."""
    corpus = draw(corpora(**shape))
    return corpus, draw(models(corpus.counts.shape[1], elements, magnitude))


@st.composite
def problems(draw):
    """A small selection problem and a p of norm 0.1 to 1e6; keys and values on the grid, so that they tie, or not."""
    corpus = draw(corpora(min_vocabulary=2, max_documents=3, max_length=6))
    m, d = corpus.counts.shape[1], draw(st.integers(1, 4))
    elements = draw(st.sampled_from([grid, floats, st.sampled_from([-1.0, 0.0, 1.0])]))
    keys, values = (draw(arrays(shape, elements)) for shape in ((m, d), m))
    p = draw(arrays(d, elements).filter(lambda p: np.abs(p).max() > 0.01))
    p *= 10.0 ** draw(st.integers(-1, 6)) / np.linalg.norm(p)
    return SelectionProblem(keys, values, corpus.counts, corpus.labels), p


def token_lists(corpus):
    """The documents written out, each token as often as it is counted."""
    C = corpus.counts.toarray().astype(int)
    return [np.repeat(np.arange(C.shape[1]), row) for row in C]


def dense_attention(corpus, z):
    """A (n, |S|) by a softmax over the tokens written out."""
    A = np.zeros(corpus.counts.shape)
    for i, tokens in enumerate(token_lists(corpus)):
        np.add.at(A[i], tokens, softmax(z[tokens]))
    return A


def gradient_scales(model, corpus):
    """The size of the terms the three gradients are sums of: what rounding is relative to, entry by entry."""
    E, p, v = (np.abs(x.astype(np.float64)) for x in (model.E, model.p, model.v))
    z, gamma = (model.E.astype(np.float64) @ x.astype(np.float64) for x in (model.p, model.v))
    A = dense_attention(corpus, z)
    f = A @ gamma
    a = (expit(-corpus.labels * f) / len(corpus)) @ A
    omega = (expit(-corpus.labels * f) / len(corpus)) @ (A * (np.abs(gamma) + np.abs(f)[:, None]))
    return np.outer(a, v) + np.outer(omega, p), omega @ E, a @ E


def one_row_per_occurrence(corpus, model):
    """Paper B's form of a corpus: every token of every document is its own row, and the counts are 0/1."""
    tokens = token_lists(corpus)
    rows, at = np.concatenate(tokens), np.repeat(np.arange(len(tokens)), [len(document) for document in tokens])
    C = sparse.csr_array((np.ones(len(rows)), (at, np.arange(len(rows)))), shape=(len(tokens), len(rows)))
    return SelectionProblem(model.E[rows], model.gamma[rows], C, corpus.labels)


def dense_loss(problem, p):
    """The loss of a selection problem by a softmax over the tokens written out."""
    f = dense_attention(problem, problem.keys @ p) @ problem.values
    return np.logaddexp(0, -problem.labels * f).mean()


def dense_gradient(problem, p):
    """Its gradient in p, and the size of the terms it is a sum of: (d,), float."""
    A, y = dense_attention(problem, problem.keys @ p), problem.labels
    f = A @ problem.values
    weights = (y * expit(-y * f) / len(y))[:, None] * A * (problem.values - f[:, None])
    sizes = expit(-y * f)[:, None] / len(y) * A * (np.abs(problem.values) + np.abs(f)[:, None])
    return -weights.sum(axis=0) @ problem.keys, sizes.sum() * np.abs(problem.keys).max()
