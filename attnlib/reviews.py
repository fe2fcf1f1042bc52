"""Real corpora: film reviews (IMDB, Maas et al. 2011) and Yelp reviews with polarity labels (Zhang et al. 2015).

The rows come from parquet files in the folder ATTNLIB_DATA, if that is set, or else from the Hugging Face hub or its
cache. They are put in the order of their digests, so the same rows make the same corpus whichever way they came; copies
of one text stand side by side, and any stretch of the corpus is otherwise a random sample of it.
"""

import contextlib
import hashlib
import importlib.util
import inspect
import json
import os
import tempfile
import threading
import unicodedata
import warnings
from pathlib import Path

import numpy as np
from tqdm import TqdmWarning

from . import cache, checks, corpus
from .corpus import Corpus

NAMES = {"imdb": ("imdb.parquet", "stanfordnlp/imdb"), "yelp": ("yelp_polarity.parquet", "fancyzhx/yelp_polarity")}
SPLITS = ("train", "test")
PATIENCE = 3.0  # seconds for the hub to answer at all


def load_corpus(
    name: str, split: str = "train", vocabulary=None, min_documents: int = 10, progress: bool = True
) -> Corpus:
    """The corpus "imdb" or "yelp", split "train" or "test", with labels -1 and +1 and the rows' `fingerprint`.

    Unless a vocabulary is given, it is the tokens of at least `min_documents` documents; pass the training vocabulary
    for the test split. Counts are kept in the folder ATTNLIB_CACHE (~/.cache/attnlib if unset) for the next time.
    """
    if vocabulary is not None:
        vocabulary = checks.vocabulary(vocabulary)
    texts, labels = read(name, split)
    digests = row_digests(texts, labels)
    order = sorted(range(len(texts)), key=digests.__getitem__)
    mark = _combine(digests)
    asked = [mark, inspect.getsource(corpus), unicodedata.unidata_version, vocabulary, min_documents]
    key = hashlib.sha256(json.dumps(asked).encode()).hexdigest()
    path = cache.folder() / f"{name}-{split}-{key[:32]}.npz"
    found = cache.load(path, key, mark)
    if found is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said below, whether or not the counts were stored
            made = Corpus.from_texts(
                [texts[i] for i in order], 2 * labels[order] - 1, vocabulary, min_documents, progress=progress
            )
        found = Corpus(made.counts, made.labels, made.vocabulary, made.left_out, mark)
        cache.store(path, key, found)
    if found.left_out:
        warnings.warn(f"left out {len(found.left_out)} of {len(texts)} texts with no known token", stacklevel=2)
    return found


def available(name: str) -> bool:
    """Whether the corpus can be had without a download."""
    file, hub = _names(name)
    if folder := os.environ.get("ATTNLIB_DATA"):
        return (Path(folder) / file).is_file()
    if importlib.util.find_spec("datasets") is None:
        return False
    return any(Path(_datasets().config.HF_DATASETS_CACHE).glob(hub.replace("/", "___") + "/*/*/*/dataset_info.json"))


def fingerprint(texts, labels) -> str:
    """32 hexadecimal digits that depend on the rows (text, label 0/1), copies included, but not on their order.

    >>> fingerprint(["good", "bad"], [1, 0]) == fingerprint(["bad", "good"], [0, 1]) != fingerprint(["good"], [1])
    True
    """
    return _combine(row_digests(texts, labels))


def row_digests(texts, labels) -> list[bytes]:
    """One digest a row, of its label and its text."""
    pairs = zip(texts, labels, strict=True)
    return [hashlib.sha256(b"%d " % y + text.encode("utf-8", "surrogatepass")).digest() for text, y in pairs]


def _combine(digests) -> str:
    return hashlib.sha256(b"".join(sorted(digests))).hexdigest()[:32]


def read(name: str, split: str) -> tuple[list[str], np.ndarray]:
    """Texts and labels 0/1 of one split, in the order of the source."""
    file, hub = _names(name)
    if split not in SPLITS:
        raise ValueError(f"split is {split!r}, but one of {', '.join(map(repr, SPLITS))} is needed")
    if folder := os.environ.get("ATTNLIB_DATA"):
        source = Path(folder) / file
        data = _from_file(source)
        needed = ("text", "label", "split")
    else:
        source = hub
        data = _from_hub(hub, split)
        needed = ("text", "label")
    for column in needed:
        if column not in data.column_names:
            raise ValueError(f"{source} has no column {column!r}, only {', '.join(map(repr, data.column_names))}")
    try:
        columns = {column: data[column][:] for column in needed}
    except Exception as error:  # a page that is damaged inside is found out only now
        raise ValueError(f"{source} cannot be read: {_root(error)}") from error
    rows = [i for i, part in enumerate(columns["split"]) if part == split] if "split" in columns else range(len(data))
    if not len(rows):
        raise ValueError(f"{source} has no row of split {split!r}")
    texts, labels = ([columns[column][i] for i in rows] for column in ("text", "label"))
    for i, text, label in zip(rows, texts, labels):
        if not isinstance(text, str):
            raise ValueError(f"{source} row {i}: column 'text' holds {text!r}, which is not a string")
        if label not in (0, 1):
            raise ValueError(f"{source} row {i}: column 'label' holds {label!r}, but 0 or 1 is needed")
    return texts, np.array(labels, dtype=int)


def _names(name):
    if name not in NAMES:
        raise ValueError(f"name is {name!r}, but one of {', '.join(map(repr, NAMES))} is needed")
    return NAMES[name]


def _datasets():
    """The library, imported when it is needed: that takes longer than most of what this one does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TqdmWarning)  # in a notebook, that bars could be drawn with widgets
        import datasets
    return datasets


def _from_file(path):
    if not path.is_file():
        raise FileNotFoundError(f"ATTNLIB_DATA is {str(path.parent)!r}, but there is no file {path.name} in it")
    datasets = _datasets()
    # A table in memory: the arrow copy that datasets would keep of a file we already have goes with its folder.
    with tempfile.TemporaryDirectory() as scratch, _quiet(datasets):
        try:
            return datasets.Dataset.from_parquet(str(path), cache_dir=scratch, keep_in_memory=True)
        except Exception as error:
            raise ValueError(f"{path} cannot be read as a parquet file: {_root(error)}") from error


def _from_hub(hub, split):
    datasets = _datasets()
    with contextlib.suppress(ConnectionError), _offline(datasets):
        return datasets.load_dataset(hub, split=split)  # from the cache, which needs no network
    try:
        if not _answers(datasets.config.HF_ENDPOINT):
            raise ConnectionError(f"no answer from {datasets.config.HF_ENDPOINT} within {PATIENCE:.0f} s")
        return datasets.load_dataset(hub, split=split)
    except Exception as error:
        files = " and ".join(file for file, _ in NAMES.values())
        raise ConnectionError(
            f"{hub} is not in the Hugging Face cache and could not be downloaded ({_root(error)}). "
            f"Either set ATTNLIB_DATA to a folder with the parquet files ({files}, with columns text, label, split), "
            f"or connect to the network once, so that `datasets` can download it to {datasets.config.HF_DATASETS_CACHE}"
        ) from error


def _answers(address) -> bool:
    """Whether anything answers at `address`, in PATIENCE seconds at most, where `datasets` alone retries for 25."""
    from huggingface_hub.utils import get_session

    answer = []

    def ask():
        with contextlib.suppress(Exception):
            answer.append(get_session().head(address, timeout=PATIENCE))

    side = threading.Thread(target=ask, daemon=True)  # looking up a name cannot be timed out, but it can be left alone
    side.start()
    side.join(PATIENCE)
    return bool(answer)


@contextlib.contextmanager
def _offline(datasets):
    before, datasets.config.HF_HUB_OFFLINE = datasets.config.HF_HUB_OFFLINE, True
    level = datasets.logging.get_verbosity()
    datasets.logging.set_verbosity_error()  # that the cache is used is what was asked for
    try:
        yield
    finally:
        datasets.config.HF_HUB_OFFLINE = before
        datasets.logging.set_verbosity(level)


@contextlib.contextmanager
def _quiet(datasets):
    shown = datasets.is_progress_bar_enabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            datasets.enable_progress_bars()


def _root(error) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}"
