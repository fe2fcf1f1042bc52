"""Run as a script by test_faults.py: children that are killed, and what they leave behind.

    python faults.py kill-replicate FOLDER ROUNDS     python faults.py kill-store FOLDER ROUNDS

The parent imports everything once and forks, so that a child costs milliseconds. It prints one line of JSON.
"""

import collections
import contextlib
import io
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np

from attnlib import __main__ as command
from attnlib import important_tokens, replication, results, reviews, two_stage

FOLDER = Path(sys.argv[2]) if __name__ == "__main__" else None


def child(work, seconds=None) -> bool:
    """Whether `work` came to its end in a fork of this process, which is killed after some seconds, or by itself."""
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException), contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            work()
            os._exit(0)
        os._exit(1)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit("a child failed instead of being killed")
    return os.WIFEXITED(status)


def make_reviews(folder, seed):
    import pandas as pd

    corpus = important_tokens(120, 8, important=2, irrelevant=12 + seed, seed=seed, noise=0.05)
    words = np.array(corpus.vocabulary)
    texts = [" ".join(np.repeat(words, row.astype(int))) for row in corpus.counts.toarray()]
    splits = np.where(np.arange(120) < 80, "train", "test")
    folder.mkdir()
    frame = pd.DataFrame({"text": texts, "label": (corpus.labels > 0).astype(int), "split": splits})
    frame.to_parquet(folder / reviews.NAMES["imdb"][0])


def kill_replicate(rounds):
    """Two sets of reviews by turns; each round is killed at some moment between its start and a little past its end."""
    results.RESULTS = FOLDER / "results"
    for module in (replication, two_stage):
        module.D, module.OFTEN = 4, 2
    # The study's slowest parts store nothing: without them a round is some tenths of a second.
    replication.SEEDS = range(1)
    replication.two_stage_study = replication.finite_study = lambda *_: {}
    os.environ["ATTNLIB_CACHE"] = str(FOLDER / "cache")
    marks = []
    for seed in range(2):
        make_reviews(FOLDER / str(seed), seed)
        os.environ["ATTNLIB_DATA"] = str(FOLDER / str(seed))
        began = time.perf_counter()
        assert child(lambda: command.main(["replicate", "imdb"]))
        lasts = time.perf_counter() - began
        marks.append(results.stored("imdb")[0]["provenance"]["fingerprint"]["train"])
    rng, seen = random.Random(0), collections.Counter()
    for k in range(rounds):
        before = results.stored("imdb")[0]["provenance"]["fingerprint"]["train"]
        turn = 1 - marks.index(before)
        os.environ["ATTNLIB_DATA"] = str(FOLDER / str(turn))
        if k % 2:  # so that words have to be counted too
            for path in (FOLDER / "cache").glob("*.npz"):
                path.unlink()
        done = child(lambda: command.main(["replicate", "imdb"]), rng.uniform(0, 1.2 * lasts))
        found, tokens = results.stored("imdb")
        after = found["provenance"]["fingerprint"]["train"]
        assert after in (before, marks[turn]) and (after == marks[turn] or not done)
        assert len(tokens["token"]) == found["corpus"]["tokens"] == 16 + marks.index(after)
        for path in (FOLDER / "cache").glob("*.npz"):  # whole, or not there
            with np.load(path) as stored:
                assert [stored[name].size for name in stored]
        seen["old" if after == before else "new"] += 1
    assert child(lambda: command.main(["replicate", "imdb"]))
    assert not list(results.RESULTS.glob("*.part")), "what killed runs had begun is swept up"
    return seen


def study(version):
    """A study and a table that both say which version they are."""
    tokens = {column: np.full(3, float(version)) for column in ("q", "alpha", "delta", "z", "gamma", "count")}
    found = {"corpus": {"tokens": 3}, "version": version, "provenance": {"seconds": 1.0}}
    return found, tokens | {"token": np.array(["a", "b", "c"])}


def kill_at_line(count):
    """Be killed when so many lines of results.py have run."""
    left = [count]

    def trace(frame, event, _):
        if frame.f_code.co_filename != results.__file__:
            return None
        if event == "line":
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)


def kill_store(rounds):
    """Version after version is stored. The first children are killed before the 1st, 2nd, 3rd... line of the code that
    stores, until one comes to its end; the others, before some line, several in a row without one that succeeds."""
    results.RESULTS = FOLDER / "results"
    results.store("imdb", *study(0))
    version, current, seen, rng = 0, 0, collections.Counter(), random.Random(0)
    last = None
    k = 0
    while last is None or k < last + rounds:
        version += 1

        def work(version=version, line=k if last is None else rng.randrange(last)):
            kill_at_line(line)
            results.store("imdb", *study(version))

        done = child(work)
        found, tokens = results.stored("imdb")
        assert found["version"] in (current, version), (found["version"], current, version)
        assert set(tokens["z"]) == {float(found["version"])}, "study and table are of one run"
        assert found["version"] == version or not done
        seen["old" if found["version"] == current else "new"] += 1
        current = found["version"]
        if done and last is None:
            last = k
        k += 1
    leftovers = len(list(results.RESULTS.iterdir())) - 2
    results.store("imdb", *study(-1))
    assert sorted(path.name for path in results.RESULTS.iterdir()) == ["imdb.json", "imdb_tokens.csv"]
    return seen | {"lines": last, "leftovers": leftovers}


if __name__ == "__main__":
    work = {"kill-replicate": kill_replicate, "kill-store": kill_store}[sys.argv[1]]
    print(json.dumps(work(int(sys.argv[3]))))
