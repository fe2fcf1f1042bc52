"""A corpus as attention sees it: how often each token stands in each document, and the document's label."""

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from tqdm import tqdm

from . import checks
from .bags import Bags

WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def tokenize(text: str) -> list[str]:
    """Lower-case words, with digits and inner apostrophes; the line breaks of scraped reviews are blanks.

    >>> tokenize("It wasn't bad.<br />9/10")
    ['it', "wasn't", 'bad', '9', '10']
    """
    return WORD.findall(fold(text))


def fold(text: str) -> str:
    """The text whose words `tokenize` takes; as long as the original, unless lower case itself is longer."""
    return text.lower().replace("<br />", " " * len("<br />")).replace("\u2019", "'")


@dataclass(frozen=True, eq=False, repr=False)
class Corpus:
    """Documents as bags of tokens: counts C (n, |S|), labels y (n,) in {-1, +1}, and the vocabulary S.

    `left_out` names the rows of the input that `from_texts` could not keep; `fingerprint` names the data of
    `load_corpus`.

    >>> corpus = Corpus.from_tokens([["good", "film", "good"], ["bad", "film"]], [1, -1])
    >>> corpus.vocabulary
    ('bad', 'film', 'good')
    >>> corpus.counts.toarray().tolist()
    [[0.0, 1.0, 2.0], [1.0, 1.0, 0.0]]
    >>> corpus
    Corpus(2 documents, 3 tokens, 4 stored counts, 1 labelled +1)
    """

    counts: sparse.csr_array
    labels: np.ndarray
    vocabulary: tuple[str, ...]
    left_out: tuple[int, ...] = ()
    fingerprint: str = ""

    def __post_init__(self):
        C = checks.counts(self.counts)
        y = checks.labels(self.labels, C.shape[0])
        for array in (C.data, C.indices, C.indptr, y):
            array.flags.writeable = False
        object.__setattr__(self, "counts", C)
        object.__setattr__(self, "labels", y)
        object.__setattr__(self, "vocabulary", checks.vocabulary(self.vocabulary, C.shape[1]))

    def __len__(self) -> int:
        return self.counts.shape[0]

    def __repr__(self) -> str:
        (n, size), nnz, positive = self.counts.shape, self.counts.nnz, int((self.labels > 0).sum())
        return f"Corpus({n} documents, {size} tokens, {nnz} stored counts, {positive} labelled +1)"

    @cached_property
    def lengths(self) -> np.ndarray:
        """T_i, the tokens of each document: (n,)."""
        lengths = self.counts.sum(axis=1)
        lengths.flags.writeable = False
        return lengths

    @cached_property
    def bags(self) -> Bags:
        """C with its products."""
        return Bags(self.counts)

    @classmethod
    def from_tokens(cls, documents: Iterable[Sequence[str]], labels, vocabulary=None) -> "Corpus":
        """Documents that are already lists of tokens; a token outside a given vocabulary is an error."""
        documents = list(documents)
        for i, document in enumerate(documents):
            if isinstance(document, str) or not hasattr(document, "__len__"):
                kind = type(document).__name__
                raise ValueError(f"documents[{i}] is of type {kind}; pass lists of tokens, or use Corpus.from_texts")
            if len(document) == 0:
                raise ValueError(f"documents[{i}] is empty: every document needs a token")
            for token in document:
                if not isinstance(token, str):
                    raise ValueError(f"documents[{i}] holds {token!r}, which is not a string")
        C, vocabulary = _count(documents, vocabulary)
        short = np.flatnonzero(C.sum(axis=1) < [len(document) for document in documents])
        if short.size:
            known = set(vocabulary)
            token = next(token for token in documents[short[0]] if token not in known)
            raise ValueError(f"documents[{short[0]}] holds {token!r}, which is not in the vocabulary")
        return cls(C, labels, vocabulary)

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        labels,
        vocabulary=None,
        min_documents: int = 1,
        max_vocabulary: int | None = None,
        progress: bool = False,
    ) -> "Corpus":
        """Raw texts, split by `tokenize`. Unless a vocabulary is given, keep the tokens of at least `min_documents`
        documents, and of these the `max_vocabulary` most frequent.

        Words outside the vocabulary are not counted. A text with no known word has no attention to speak of: it is
        left out, a warning says so, and `left_out` names it.
        """
        if isinstance(texts, str):
            raise ValueError("texts is one string; a sequence of strings is needed")
        texts = list(texts)
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise ValueError(f"texts[{i}] is {type(text).__name__}, not a string")
        y = checks.labels(labels, len(texts))
        shown = tqdm(texts, "counting words", disable=not progress, unit=" texts", leave=False)
        C, vocabulary = _count(shown, vocabulary, min_documents, max_vocabulary, split=tokenize)
        kept = np.diff(C.indptr) > 0
        if not kept.any():
            raise ValueError(f"vocabulary knows no word of any of the {len(texts)} texts")
        left_out = tuple(np.flatnonzero(~kept).tolist())
        if left_out:
            first = ", ".join(map(str, left_out[:5])) + (", ..." if len(left_out) > 5 else "")
            warnings.warn(f"left out {len(left_out)} of {len(texts)} texts with no known token: {first}", stacklevel=2)
        return cls(C[kept], y[kept], vocabulary, left_out)


def _count(documents, vocabulary, min_documents=1, max_vocabulary=None, split=lambda document: document):
    """Counts and vocabulary of documents, split one at a time into tokens, by scikit-learn's CountVectorizer."""
    if not len(documents):
        raise ValueError("there is no document: a corpus needs at least one")
    if vocabulary is not None:
        vocabulary = checks.vocabulary(vocabulary)
        if not vocabulary:
            raise ValueError("vocabulary is empty")
    vectorizer = CountVectorizer(
        analyzer=split,
        vocabulary=vocabulary,
        min_df=min_documents,
        max_features=max_vocabulary,
        lowercase=False,
        dtype=np.float64,
    )
    try:
        C = vectorizer.fit_transform(documents)
    except ValueError as error:
        raise ValueError(
            f"no token is left for a vocabulary with min_documents={min_documents}, max_vocabulary={max_vocabulary} "
            f"in {len(documents)} documents ({error})"
        ) from error
    return sparse.csr_array(C), tuple(map(str, vectorizer.get_feature_names_out()))
