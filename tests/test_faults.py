"""Faults: killed, no room, no right to write, two at once, damaged files. The old is kept or the new is whole, and the
message says what is wrong. What each test destroys is its own."""

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from faults import study
from test_reviews import made

from attnlib import cache, load_corpus, results
from attnlib.__main__ import main

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 500 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 50


@pytest.mark.parametrize("what", ["kill-replicate", "kill-store"])
def test_a_killed_run_leaves_the_old_study_or_the_new_one(what, tmp_path):
    command = [sys.executable, ROOT / "tests/faults.py", what, tmp_path, str(ROUNDS)]
    environ = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, env=environ, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    seen = json.loads(run.stdout)
    assert seen["old"] + seen["new"] >= ROUNDS and seen["old"] > 0 and seen["new"] > 0
    if what == "kill-store":
        assert seen["lines"] > 30 and seen["leftovers"] > 0  # there was something to be killed in, and to be swept up


def test_a_file_is_on_disk_before_it_takes_the_place_of_another(tmp_path, monkeypatch):
    """What a kill cannot show, but a power cut could: the order of the calls."""
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    calls = []

    def inode(path):
        return os.stat(path).st_ino

    def fsync(handle, call=os.fsync):
        calls.append(("fsync", os.fstat(handle).st_ino, os.fstat(handle).st_size))
        call(handle)

    def replace(source, target, call=os.replace):
        calls.append(("replace", inode(source), os.stat(source).st_size))
        call(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    results.store("imdb", *study(1))
    replaced = [(k, ino, size) for k, (kind, ino, size) in enumerate(calls) if kind == "replace"]
    assert len(replaced) == 3
    for k, ino, size in replaced:
        assert size > 0 and ("fsync", ino, size) in calls[:k]
    folder = inode(tmp_path)
    assert [kind for kind, ino, _ in calls if ino == folder] == ["fsync"] * 2  # each renaming of a new file


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 kB, and a way to set it read-only: (folder, options). Needs the right to mount."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", folder], capture_output=True)
    if done.returncode:
        pytest.skip("LEFT OUT: no right to mount a small file system, so a full and a read-only one were not tried")
    yield folder, lambda options: subprocess.run(["mount", "-o", f"remount,{options}", folder], check=True)
    subprocess.run(["umount", "-l", folder], check=True)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def fill(folder):
    with pytest.raises(OSError, match="No space left"), open(folder / "filler", "wb", buffering=0) as out:
        while True:
            out.write(b"x" * 4096)


def test_a_full_disk(small_disk, monkeypatch, capsys):
    folder, _ = small_disk
    monkeypatch.setattr(results, "RESULTS", folder)
    results.store("imdb", *study(1))
    fill(folder)
    before = contents(folder)
    with pytest.raises(OSError, match="study of imdb is not stored, the old one is kept: .*No space left"):
        results.store("imdb", *study(2))
    assert contents(folder) == before and results.stored("imdb")[0]["version"] == 1
    monkeypatch.setattr(results, "study", lambda *_, **__: pytest.fail("minutes of work for nothing"))
    assert main(["replicate", "imdb"]) == 2
    assert f"studies cannot be stored in {folder}" in (said := capsys.readouterr().err) and "No space left" in said
    assert contents(folder) == before


def test_a_read_only_folder(small_disk, monkeypatch, capsys):
    folder, remount = small_disk
    monkeypatch.setattr(results, "RESULTS", folder)
    results.store("imdb", *study(1))
    before = contents(folder)
    remount("ro")
    with pytest.raises(OSError, match="study of imdb is not stored, the old one is kept: .*Read-only"):
        results.store("imdb", *study(2))
    assert results.stored("imdb")[0]["version"] == 1 and contents(folder) == before
    monkeypatch.setattr(results, "study", lambda *_, **__: pytest.fail("minutes of work for nothing"))
    assert main(["replicate", "imdb"]) == 2
    assert "Read-only" in capsys.readouterr().err


def test_counts_that_cannot_be_stored_cost_time_only(small_disk, monkeypatch):
    folder, remount = small_disk
    (folder / "data").mkdir()
    made().to_parquet(folder / "data/imdb.parquet")
    monkeypatch.setenv("ATTNLIB_DATA", str(folder / "data"))
    monkeypatch.setenv("ATTNLIB_CACHE", str(folder / "cache"))
    fill(folder)
    for state in ("rw", "ro"):
        remount(state)
        with pytest.warns(UserWarning, match="the counts are not stored: .*(No space left|Read-only)"):
            assert len(load_corpus("imdb", min_documents=2, progress=False)) == 30
        assert not list(folder.glob("cache/*"))


def in_child(work):
    """The exit code of work() in a fork: what it does to its own rights and limits ends with it."""
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            code = work()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def refused(says):
    """0 if storing was refused with these words and the old study is there, 1 if not."""
    try:
        results.store("imdb", *study(2))
    except OSError as error:
        return 0 if says in str(error) and results.stored("imdb")[0]["version"] == 1 else 1
    return 1


def test_files_may_not_grow(tmp_path, monkeypatch):
    """The limit of `ulimit -f`, which needs no rights to set."""
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    results.store("imdb", *study(1))
    before = contents(tmp_path)

    def work():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
        return refused("File too large")

    assert in_child(work) == 0
    assert contents(tmp_path) == before


def test_a_folder_of_someone_else(tmp_path, monkeypatch):
    folder = tmp_path / "theirs"
    monkeypatch.setattr(results, "RESULTS", folder)
    results.store("imdb", *study(1))
    folder.chmod(0o555)
    for parent in folder.parents:
        if parent.owner() == tmp_path.owner() and parent.is_relative_to(tmp_path.parent.parent.parent):
            parent.chmod(parent.stat().st_mode | 0o011)

    def work():
        if os.getuid() == 0:
            os.setuid(65534)  # root may write anywhere
        try:
            results.check_room()
            return 2
        except OSError as error:
            return refused("Permission denied") if f"cannot be stored in {folder}" in str(error) else 3

    assert in_child(work) == 0
    folder.chmod(0o755)
    assert sorted(contents(folder)) == ["imdb.json", "imdb_tokens.csv"]


def test_two_at_once(tmp_path, monkeypatch):
    """Two writers and a reader: whichever was last, study and table are of one run. The lock is of the open folder, so
    threads contend for it as processes do."""
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    results.store("imdb", *study(0))
    errors, writing = [], True

    def write(versions):
        try:
            for version in versions:
                results.store("imdb", *study(version))
        except Exception as error:
            errors.append(error)

    def read():
        while writing:
            try:
                found, tokens = results.stored("imdb")
                assert set(tokens["z"]) == {float(found["version"])}
            except Exception as error:
                errors.append(error)

    writers = [threading.Thread(target=write, args=(range(k, 200, 2),)) for k in (1, 2)]
    reader = threading.Thread(target=read)
    for thread in (*writers, reader):
        thread.start()
    for thread in writers:
        thread.join()
    writing = False
    reader.join()
    assert errors == []
    assert results.stored("imdb")[0]["version"] in (198, 199)
    assert sorted(contents(tmp_path)) == ["imdb.json", "imdb_tokens.csv"]


@pytest.mark.parametrize(
    "file, damage, message",
    [
        ("imdb.json", lambda b: b[: len(b) // 2], r"imdb\.json is damaged \(JSONDecodeError"),
        ("imdb.json", lambda b: b"", r"imdb\.json is damaged"),
        ("imdb.json", lambda b: b"[1]", r"imdb\.json is damaged"),
        ("imdb.json", lambda b: b'{"provenance": {}}', r"imdb\.json is damaged \(KeyError: 'table'"),
        ("imdb.json", lambda b: b"\xff" + b, r"imdb\.json is damaged"),
        ("imdb_tokens.csv", lambda b: b[:-4], r"imdb_tokens\.csv is damaged or not of the same run as imdb\.json"),
        ("imdb_tokens.csv", lambda b: b.replace(b"a", b"e"), r"imdb_tokens\.csv is damaged"),
        ("imdb_tokens.csv", lambda b: b"", r"imdb_tokens\.csv is damaged"),
    ],
)
def test_a_damaged_study_is_named_and_can_be_replaced(tmp_path, monkeypatch, capsys, file, damage, message):
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    results.store("imdb", *study(1))
    path = tmp_path / file
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=message + ".*replicate"):
        results.stored("imdb")
    found, tokens = study(2)
    found["provenance"]["fingerprint"] = {"train": "f", "test": "g"}
    monkeypatch.setattr(results, "study", lambda name, team: (found, tokens))
    assert main(["replicate", "imdb"]) == 0
    assert "what was stored is replaced: " in capsys.readouterr().out
    assert results.stored("imdb")[0]["version"] == 2


def test_a_table_from_elsewhere_is_not_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    results.store("imdb", *study(1))
    results.store("yelp", *study(2))
    shutil.copy(tmp_path / "yelp_tokens.csv", tmp_path / "imdb_tokens.csv")
    with pytest.raises(ValueError, match=r"imdb_tokens\.csv is damaged or not of the same run"):
        results.stored("imdb")


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNLIB_DATA", str(tmp_path))
    monkeypatch.setenv("ATTNLIB_CACHE", str(tmp_path / "cache"))
    made().to_parquet(tmp_path / "imdb.parquet")
    return tmp_path


def flips(content, rounds):
    """The content with one bit the other way, or cut short, at places that a seed decides."""
    rng = random.Random(0)
    for k in range(rounds):
        at = rng.randrange(len(content))
        changed = bytearray(content)
        changed[at] ^= 1 << rng.randrange(8)
        yield bytes(changed) if k % 5 else content[:at]


def test_any_damage_to_stored_counts_is_seen_or_does_not_matter(data):
    first = load_corpus("imdb", min_documents=2, progress=False)
    (path,) = (data / "cache").glob("*.npz")
    whole, noted = path.read_bytes(), 0
    for damaged in flips(whole, 3 * ROUNDS):
        path.write_bytes(damaged)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            again = load_corpus("imdb", min_documents=2, progress=False)
        assert (again.counts != first.counts).nnz == 0 and (again.labels == first.labels).all()
        assert (again.vocabulary, again.fingerprint) == (first.vocabulary, first.fingerprint)
        messages = [str(warning.message) for warning in said]
        assert all(f"{path} is damaged, the words are counted again" in message for message in messages), messages
        if messages:
            noted += 1
            assert path.read_bytes() == whole
    assert noted > ROUNDS


def test_any_damage_to_a_parquet_file_is_named_or_shows_in_the_fingerprint(data):
    """Parquet files need not hold checksums: a flipped bit inside a word is another word, and what tells is the
    fingerprint, which `replicate` compares with that of the stored study."""
    first = load_corpus("imdb", min_documents=2, progress=False)
    path, seen = data / "imdb.parquet", {"named": 0, "same rows": 0, "other rows": 0}
    for damaged in flips(path.read_bytes(), 2 * ROUNDS):
        path.write_bytes(damaged)
        try:
            again = load_corpus("imdb", min_documents=2, progress=False)
        except ValueError as error:
            assert "imdb.parquet" in str(error)
            seen["named"] += 1
            continue
        equal = again.vocabulary == first.vocabulary and (again.counts != first.counts).nnz == 0
        equal = equal and (again.labels == first.labels).all()
        assert equal or again.fingerprint != first.fingerprint
        seen["same rows" if again.fingerprint == first.fingerprint else "other rows"] += 1
    assert min(seen.values()) > 0, seen


def test_a_text_that_is_no_text_is_named(data):
    frame = made()
    frame.to_parquet(data / "imdb.parquet", compression=None)
    path = data / "imdb.parquet"
    word = frame.text[0].split()[0].encode()
    path.write_bytes(path.read_bytes().replace(word + b" ", b"\xff" * len(word) + b" "))
    with pytest.raises(ValueError, match=r"imdb\.parquet cannot be read: UnicodeDecodeError"):
        load_corpus("imdb", min_documents=2, progress=False)


def test_a_set_with_no_rows(data):
    made().iloc[:0].to_parquet(data / "imdb.parquet")
    with pytest.raises(ValueError, match=r"imdb\.parquet cannot be read"):
        load_corpus("imdb", progress=False)
    pd.DataFrame({"text": ["", "?"], "label": [0, 1], "split": "train"}).to_parquet(data / "imdb.parquet")
    with pytest.raises(ValueError, match="no token is left"):
        load_corpus("imdb", progress=False)


def test_no_counts_are_no_damage(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.load(tmp_path / "none.npz", "key", "mark") is None


def test_numbers_of_a_study_survive_storing(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    found, tokens = study(3)
    tokens["z"] = np.array([1e-300, -1.23456e7, 0.1])
    results.store("imdb", found, tokens)
    kept, table = results.stored("imdb")
    assert {**kept, "provenance": None} == {**found, "provenance": None} and "table" not in found["provenance"]
    np.testing.assert_allclose(table["z"], tokens["z"], rtol=1e-3)
