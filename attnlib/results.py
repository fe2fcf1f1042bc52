"""The studies of the replication, computed where the data are at hand, or as stored with the book.

A study is stored as two files, NAME.json and NAME_tokens.csv, that must be of one run. The new table is written beside
the old one, under its digest; the new JSON, which names the digest, replaces the old one in a single step, and that is
the moment the study changes; then the table takes its place. A reader who finds that the table is not the one named,
because the writer was killed in between, finds the right one beside it. Writers take turns, and readers wait for them.
"""

import contextlib
import csv
import fcntl
import hashlib
import io
import json
import os
import tempfile
from pathlib import Path

import numpy as np

from .explain import COLUMNS, RESULTS
from .replication import study
from .reviews import available

ROOM = 4_000_000  # bytes: more than the two files of a study
TOLERANCES = {"test_accuracy": 0.005, "z_delta": 0.02, "gamma_alpha": 0.02, "held_out_accuracy": 0.01, "angle": 0.02}


def results(name: str) -> tuple[dict, dict[str, np.ndarray], bool]:
    """The study of a corpus, its token table, and whether it was computed just now."""
    return (*study(name, progress=False), True) if available(name) else (*stored(name), False)


def has_stored(name: str) -> bool:
    return (RESULTS / f"{name}.json").is_file()


def stored(name: str) -> tuple[dict, dict[str, np.ndarray]]:
    """The study and the token table that came with the book, or were stored last: always of one run."""
    path, remedy = RESULTS / f"{name}.json", "make both again by `python -m attnlib replicate`"
    with _turn(fcntl.LOCK_SH):
        try:
            found = json.loads(path.read_bytes())
            digest = found["provenance"]["table"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is damaged ({type(error).__name__}: {error}): {remedy}") from error
        places = _tables(name, digest)
        tables = (place.read_bytes() for place in places if place.is_file())
        table = next((table for table in tables if _digest(table) == digest), None)
    if table is None:
        raise ValueError(f"{places[0]} is damaged or not of the same run as {path.name}: {remedy}")
    rows = list(csv.DictReader(io.StringIO(table.decode(), newline="")))
    tokens = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    return found, {key: x if key == "token" else x.astype(float) for key, x in tokens.items()}


def store(name: str, found: dict, tokens: dict[str, np.ndarray]) -> None:
    """Replace the stored study, or leave the old one whole."""
    columns = (*COLUMNS, "count")
    lines = [",".join(columns)]
    for row in zip(*(tokens[column] for column in columns)):
        lines.append(",".join([str(row[0]), *(f"{x:.4g}" for x in row[1:])]))
    table = ("\n".join(lines) + "\n").encode()
    digest = _digest(table)
    marked = found | {"provenance": found["provenance"] | {"table": digest}}
    place, beside = _tables(name, digest)
    try:
        RESULTS.mkdir(parents=True, exist_ok=True)
        with _turn(fcntl.LOCK_EX):
            replace(beside, table)
            replace(RESULTS / f"{name}.json", (json.dumps(marked, indent=1) + "\n").encode())
            with contextlib.suppress(OSError):  # the new study is stored: what is left is tidying
                os.replace(beside, place)
                for rest in (*RESULTS.glob("*.part"), *RESULTS.glob(f"{name}_tokens.*.csv")):  # of killed runs
                    rest.unlink()
    except OSError as error:
        raise OSError(f"the study of {name} is not stored, the old one is kept: {error}") from error


def check_room() -> None:
    """Fail now, and not after minutes of work, if a study could not be stored."""
    try:
        RESULTS.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=RESULTS) as probe:
            os.posix_fallocate(probe.fileno(), 0, ROOM)
    except OSError as error:
        raise OSError(f"studies cannot be stored in {RESULTS}: {error}") from error


def _tables(name, digest) -> tuple[Path, Path]:
    """Where the table stands, and where it is put before."""
    return RESULTS / f"{name}_tokens.csv", RESULTS / f"{name}_tokens.{digest}.csv"


def _digest(table: bytes) -> str:
    return hashlib.sha256(table).hexdigest()[:32]


@contextlib.contextmanager
def _turn(kind):
    """The folder of results to ourselves (LOCK_EX) or among readers (LOCK_SH); a process that dies gives it up."""
    folder = os.open(RESULTS, os.O_RDONLY)
    try:
        fcntl.flock(folder, kind)
        yield
    finally:
        os.close(folder)


def replace(path: Path, content: bytes) -> None:
    """Written beside, on disk before it is renamed: `path` is the old file or the new one at any moment."""
    out = tempfile.NamedTemporaryFile("wb", dir=path.parent, suffix=".part", delete=False)
    try:
        with out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        os.chmod(out.name, 0o644)
        os.replace(out.name, path)
    except OSError:
        os.unlink(out.name)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    with contextlib.suppress(OSError):  # not every file system can; the renaming too is on disk then
        os.fsync(folder)
    os.close(folder)


def changes(old: dict, new: dict) -> list[str]:
    """What differs between two studies: counts and fingerprints at all, numbers of `TOLERANCES` beyond theirs."""
    found = []
    if old["corpus"] != new["corpus"]:
        found.append(f"corpus: {old['corpus']} became {new['corpus']}")
    if old["provenance"]["fingerprint"] != new["provenance"]["fingerprint"]:
        found.append("the data have another fingerprint")
    pairs = [(f"seed {a['seed']:.0f}", a, b) for a, b in zip(old["joint"]["runs"], new["joint"]["runs"])]
    pairs += [
        ("logistic", old["logistic"], new["logistic"]),
        ("margin", old["joint"]["margin"], new["joint"]["margin"]),
    ]
    for where, a, b in pairs:
        for key, tolerance in TOLERANCES.items():
            if key in a and abs(a[key] - b[key]) > tolerance:
                found.append(f"{where}: {key} {a[key]:.4f} became {b[key]:.4f}")
    return found
