"""The studies of the replication, computed where the data are at hand, or as stored with the book."""

import csv
import json
import os
import tempfile
from pathlib import Path

import numpy as np

from .explain import COLUMNS, RESULTS
from .replication import study
from .reviews import available

TOLERANCES = {"test_accuracy": 0.005, "z_delta": 0.02, "gamma_alpha": 0.02, "held_out_accuracy": 0.01, "angle": 0.02}


def results(name: str) -> tuple[dict, dict[str, np.ndarray], bool]:
    """The study of a corpus, its token table, and whether it was computed just now."""
    return (*study(name, progress=False), True) if available(name) else (*stored(name), False)


def has_stored(name: str) -> bool:
    return (RESULTS / f"{name}.json").is_file()


def stored(name: str) -> tuple[dict, dict[str, np.ndarray]]:
    """The study and the token table that came with the book."""
    found = json.loads((RESULTS / f"{name}.json").read_text())
    with (RESULTS / f"{name}_tokens.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    tokens = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    return found, {key: x if key == "token" else x.astype(float) for key, x in tokens.items()}


def store(name: str, found: dict, tokens: dict[str, np.ndarray]) -> None:
    """Write both files whole, or leave the old ones."""
    columns = (*COLUMNS, "count")
    lines = [",".join(columns)]
    for row in zip(*(tokens[column] for column in columns)):
        lines.append(",".join([str(row[0]), *(f"{x:.4g}" for x in row[1:])]))
    replace(RESULTS / f"{name}_tokens.csv", "\n".join(lines) + "\n")
    replace(RESULTS / f"{name}.json", json.dumps(found, indent=1) + "\n")


def replace(path: Path, text: str) -> None:
    """Write a file whole, or leave the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".part", delete=False, encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    os.chmod(out.name, 0o644)
    os.replace(out.name, path)


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
