"""Counts kept on disk for the next time: written whole or not at all, and not trusted if damaged."""

import contextlib
import json
import os
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse

from .corpus import Corpus


def folder() -> Path:
    return Path(os.environ.get("ATTNLIB_CACHE") or Path.home() / ".cache" / "attnlib")


def load(path, key, mark) -> Corpus | None:
    """The corpus stored under `key`, or None. The archive carries a checksum of every array; one that fails, or is
    not what `Corpus` takes, is as good as none, and a warning says so."""
    if not path.exists():
        return None
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            if str(stored["key"]) != key:
                return None
            C = sparse.csr_array((stored["data"], stored["indices"], stored["indptr"]), shape=stored["shape"])
            C.check_format()
            words = json.loads(stored["vocabulary"].tobytes())
            return Corpus(C, stored["labels"], words, tuple(stored["left_out"].tolist()), mark)
    except Exception as error:  # whatever a damaged file can make numpy and zipfile raise
        warnings.warn(f"{path} is damaged, the words are counted again ({type(error).__name__}: {error})", stacklevel=3)
        return None


def store(path, key, made) -> None:
    """Write next to `path`, then rename: a run that is killed leaves the old file or none."""
    C = made.counts
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for part in path.parent.glob("*.part"):  # what a killed run had begun
            if time.time() - part.stat().st_mtime > 3600:
                part.unlink()
        handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".part")
    except OSError as error:
        warnings.warn(f"the counts are not stored: {error}", stacklevel=3)
        return
    try:
        with os.fdopen(handle, "wb") as out:
            np.savez(
                out,
                key=key,
                data=C.data.astype(np.float32),
                indices=C.indices,
                indptr=C.indptr,
                shape=C.shape,
                labels=made.labels.astype(np.int8),
                vocabulary=np.frombuffer(json.dumps(made.vocabulary).encode(), dtype=np.uint8),
                left_out=np.array(made.left_out, dtype=np.int64),
            )
            out.flush()
            os.fsync(out.fileno())
        os.replace(scratch, path)
    except OSError as error:
        warnings.warn(f"the counts are not stored: {error}", stacklevel=3)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(scratch)
