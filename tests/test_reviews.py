"""Real corpora: two routes to the same rows, a cache that is whole or absent, and what is refused."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings

import datasets
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attnlib import load_corpus, reviews
from attnlib.corpus import tokenize
from attnlib.reviews import available, fingerprint

WORDS = "a good bad film plot it wasn't dull great the".split()


def made(n=60, seed=0):
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, size=rng.integers(3, 12))) + f"<br />No{i % 7}." for i in range(n)]
    return pd.DataFrame({"text": texts, "label": rng.integers(2, size=n), "split": ["train", "test"] * (n // 2)})


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    """A data folder with both sets, and caches of this test's own."""
    folder = tmp_path / "data"
    folder.mkdir()
    for k, (file, _) in enumerate(reviews.NAMES.values()):
        made(seed=k).to_parquet(folder / file)
    monkeypatch.setenv("ATTNLIB_DATA", str(folder))
    monkeypatch.setenv("ATTNLIB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "hub")
    return folder


def same(one, other):
    assert one.vocabulary == other.vocabulary and one.fingerprint == other.fingerprint
    assert one.left_out == other.left_out
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(one.counts, name), getattr(other.counts, name))
    np.testing.assert_array_equal(one.labels, other.labels)


def load(name="imdb", split="train", vocabulary=None, min_documents=2):
    return load_corpus(name, split, vocabulary, min_documents, progress=False)


def test_what_is_loaded():
    train = load()
    rows = made().query("split == 'train'")
    assert len(train) == 30 and train.fingerprint == fingerprint(rows.text, rows.label)
    assert (train.labels > 0).sum() == rows.label.sum()
    assert "wasn't" in train.vocabulary and "no3" in train.vocabulary and "br" not in train.vocabulary
    assert train.counts.sum() == sum(len(text.replace("<br />", " ").split()) for text in rows.text)
    test = load(split="test", vocabulary=train.vocabulary)
    assert test.vocabulary == train.vocabulary and test.fingerprint != train.fingerprint
    assert load("yelp").fingerprint != train.fingerprint


@pytest.mark.parametrize("features", [None, datasets.ClassLabel(names=["neg", "pos"])])
def test_both_routes_give_the_same_corpus_in_any_order(monkeypatch, tmp_path, features):
    local = load()

    def hub(name, split):
        assert name == "stanfordnlp/imdb"
        rows = made().query("split == @split").sample(frac=1, random_state=1)
        data = datasets.Dataset.from_dict({"text": list(rows.text), "label": list(rows.label)})
        return data if features is None else data.cast_column("label", features)

    monkeypatch.delenv("ATTNLIB_DATA")
    monkeypatch.setattr(datasets, "load_dataset", hub)
    same(load(), local)  # by way of the stored counts
    monkeypatch.setenv("ATTNLIB_CACHE", str(tmp_path / "elsewhere"))
    same(load(), local)  # and counted anew


def in_hub_cache(folder, monkeypatch, hub="stanfordnlp/imdb"):
    """What `load_dataset` leaves behind after a download: an arrow file a split and dataset_info.json."""
    monkeypatch.delenv("ATTNLIB_DATA")
    monkeypatch.setattr(datasets.config, "HF_UPDATE_DOWNLOAD_COUNTS", False)  # or `datasets` reports this to its makers
    files = {}
    for split, rows in made().groupby("split"):
        files[split] = str(folder / f"{split}.parquet")
        rows.drop(columns="split").to_parquet(files[split], index=False)
    datasets.load_dataset("parquet", data_files=files, cache_dir=str(folder / "made"))
    (info,) = (folder / "made").glob("parquet/*/*/*/dataset_info.json")
    target = datasets.config.HF_DATASETS_CACHE / hub.replace("/", "___") / "plain_text" / "0.0.0" / "abc123"
    shutil.copytree(info.parent, target)
    name = hub.split("/")[1]
    for arrow in target.glob("*.arrow"):
        arrow.rename(target / arrow.name.replace("parquet", name, 1))
    card = json.loads((target / "dataset_info.json").read_text())
    card.update(config_name="plain_text", dataset_name=name, builder_name="parquet")
    (target / "dataset_info.json").write_text(json.dumps(card))


def test_what_is_in_the_hub_cache_needs_no_network(tmp_path, monkeypatch):
    local = load()
    in_hub_cache(tmp_path, monkeypatch)
    monkeypatch.setattr(reviews, "_answers", lambda address: pytest.fail("the network was asked"))
    assert available("imdb") and not available("yelp")
    same(load(), local)
    assert not datasets.config.HF_HUB_OFFLINE


def test_without_network_and_data_the_error_is_quick_and_names_both_remedies(monkeypatch):
    monkeypatch.delenv("ATTNLIB_DATA")
    monkeypatch.setattr(datasets.config, "HF_ENDPOINT", "https://nowhere.invalid")
    before = time.perf_counter()
    with pytest.raises(ConnectionError, match=r"ATTNLIB_DATA to a folder .*imdb\.parquet.* or connect to the network"):
        load()
    assert time.perf_counter() - before < 5


def test_a_silent_network_is_not_waited_for(monkeypatch):
    monkeypatch.delenv("ATTNLIB_DATA")
    monkeypatch.setattr(reviews, "PATIENCE", 0.2)

    class Silent:
        def head(self, address, timeout):
            time.sleep(5)

    monkeypatch.setattr("huggingface_hub.utils.get_session", Silent)
    before = time.perf_counter()
    with pytest.raises(ConnectionError, match="no answer from"):
        load()
    assert time.perf_counter() - before < 2


def test_a_download_that_breaks_off_says_what_else_can_be_done(monkeypatch):
    monkeypatch.delenv("ATTNLIB_DATA")

    def broken(name, split):
        raise ConnectionError("reset by peer")

    monkeypatch.setattr(reviews, "_answers", lambda address: True)
    monkeypatch.setattr(datasets, "load_dataset", broken)
    with pytest.raises(ConnectionError, match="reset by peer.*ATTNLIB_DATA"):
        load()


def test_available(folders, monkeypatch):
    assert available("imdb") and available("yelp")
    (folders / "imdb.parquet").unlink()
    assert not available("imdb")
    monkeypatch.delenv("ATTNLIB_DATA")
    assert not available("yelp")


@given(st.lists(st.tuples(st.text(max_size=4), st.integers(0, 1)), min_size=1, max_size=8), st.randoms())
def test_fingerprint_sees_rows_and_copies_but_not_order(rows, random):
    def of(rows):
        return fingerprint(*zip(*rows))

    mixed = list(rows)
    random.shuffle(mixed)
    text, label = rows[0]
    assert of(mixed) == of(rows)
    changed = [[(text, 1 - label), *rows[1:]], [(text + "x", label), *rows[1:]], [*rows, rows[0]]]
    assert len({of(rows), *map(of, changed)}) == 4


def test_fingerprint_needs_a_label_for_every_text():
    with pytest.raises(ValueError):
        fingerprint(["a", "b"], [1])


def broken(folder, **columns):
    made().assign(**columns).to_parquet(folder / "imdb.parquet")


@pytest.mark.parametrize("column", ["text", "label", "split"])
def test_a_missing_column_is_named(folders, column):
    made().drop(columns=column).to_parquet(folders / "imdb.parquet")
    with pytest.raises(ValueError, match=rf"imdb\.parquet has no column '{column}'"):
        load()


@pytest.mark.parametrize("bad", [2, -1, 0.5, None])
def test_a_wrong_label_is_named(folders, bad):
    labels = made().label.astype(object)
    labels[4] = bad
    broken(folders, label=labels)
    with pytest.raises(ValueError, match=r"imdb\.parquet row 4: column 'label' holds"):
        load()


def test_a_missing_text_is_named(folders):
    texts = made().text.astype(object)
    texts[6] = None
    broken(folders, text=texts)
    with pytest.raises(ValueError, match=r"imdb\.parquet row 6: column 'text' holds None"):
        load()


@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b"not parquet" * 9])
def test_a_damaged_file_is_named_and_left_alone(folders, damage):
    path = folders / "imdb.parquet"
    path.write_bytes(damage(path.read_bytes()))
    before = {file: file.read_bytes() for file in folders.iterdir()}
    with pytest.raises(ValueError, match=r"imdb\.parquet cannot be read as a parquet file"):
        load()
    assert {file: file.read_bytes() for file in folders.iterdir()} == before


def test_other_bad_arguments(folders):
    with pytest.raises(ValueError, match="name is 'imdb2', but one of 'imdb', 'yelp'"):
        load("imdb2")
    with pytest.raises(ValueError, match="name is 'imdb2'"):
        available("imdb2")
    with pytest.raises(ValueError, match="split is 'validation', but one of 'train', 'test'"):
        load(split="validation")
    with pytest.raises(ValueError, match="vocabulary"):
        load(vocabulary="abc")
    broken(folders, split="train")
    with pytest.raises(ValueError, match=r"imdb\.parquet has no row of split 'test'"):
        load(split="test")
    (folders / "imdb.parquet").unlink()
    with pytest.raises(FileNotFoundError, match=r"ATTNLIB_DATA is .* no file imdb\.parquet"):
        load()


def cached(tmp_path):
    return sorted((tmp_path / "cache").iterdir())


def test_stored_counts_are_used_and_the_key_knows_what_they_depend_on(tmp_path, folders, monkeypatch):
    first = load()
    assert len(cached(tmp_path)) == 1
    with monkeypatch.context() as m:
        m.setattr(reviews.Corpus, "from_texts", lambda *args, **kwargs: pytest.fail("counted again"))
        same(load(), first)
    load(min_documents=3)
    load(vocabulary=first.vocabulary[::-1])
    assert len(cached(tmp_path)) == 3
    broken(folders, label=1 - made().label)
    load()
    assert len(cached(tmp_path)) == 4
    monkeypatch.setattr(reviews.inspect, "getsource", lambda module: "another tokenizer")
    load()
    assert len(cached(tmp_path)) == 5


@pytest.mark.parametrize(
    "damage",
    [
        lambda b: b[: len(b) // 2],
        lambda b: b"",
        lambda b: b[:200] + bytes(x ^ 255 for x in b[200:260]) + b[260:],
        lambda b: b.replace(b"good", b"gold"),
    ],
)
def test_damaged_stored_counts_are_made_again(tmp_path, damage):
    first = load()
    (path,) = cached(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert path.read_bytes() != whole
    with pytest.warns(UserWarning, match="is damaged, the words are counted again"):
        same(load(), first)
    assert path.read_bytes() == whole


def test_counts_of_another_key_are_not_taken(tmp_path):
    first = load(min_documents=5)
    (other,) = cached(tmp_path)
    second = load()
    (mine,) = set(cached(tmp_path)) - {other}
    shutil.copy(other, mine)
    same(load(), second)
    assert first.vocabulary != second.vocabulary


def test_a_folder_that_cannot_be_written_costs_time_only(tmp_path, monkeypatch):
    first = load()
    (tmp_path / "file").touch()
    monkeypatch.setenv("ATTNLIB_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.warns(UserWarning, match="not stored"):
        same(load(), first)


def test_texts_left_out_are_told_of_each_time():
    for _ in range(2):
        with pytest.warns(UserWarning, match="left out .* of 30 texts"):
            corpus = load(vocabulary=["dull"])
        assert len(corpus) + len(corpus.left_out) == 30
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load()


def test_what_a_killed_run_had_begun_is_swept_up_later(tmp_path):
    (tmp_path / "cache").mkdir()
    old, new = (tmp_path / "cache" / f"{name}.part" for name in ("old", "new"))
    old.touch()
    new.touch()
    os.utime(old, (0, 0))
    load()
    assert new.exists() and not old.exists()


def test_a_killed_run_leaves_the_stored_counts_whole_or_absent(tmp_path):
    """Ten children are killed at some moment between opening the file and having renamed it."""
    child = """
import sys, time
import numpy as np
from attnlib import cache, reviews

def slowly(out, savez=np.savez, **arrays):
    import io
    buffer = io.BytesIO()
    savez(buffer, **arrays)
    for piece in np.array_split(np.frombuffer(buffer.getvalue(), np.uint8), 50):
        out.write(piece.tobytes())
        out.flush()
        print("writing", flush=True)
        time.sleep(0.002)

reviews.np.savez = slowly
while True:
    reviews.load_corpus("imdb", min_documents=2, progress=False)
    for path in cache.folder().glob("*.npz"):
        path.unlink()
"""
    whole = load()
    (path,) = cached(tmp_path)
    bytes_of_it = path.read_bytes()
    seen = set()
    rng = np.random.default_rng(0)
    for _ in range(10):
        shutil.rmtree(tmp_path / "cache")
        with subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            time.sleep(rng.uniform(0, 0.15))
            process.send_signal(signal.SIGKILL)
        seen.add(path.exists())
        assert not path.exists() or path.read_bytes() == bytes_of_it
        same(load(), whole)
        assert {file.suffix for file in cached(tmp_path)} <= {".npz", ".part"}
    assert False in seen  # at least one was caught while writing


rows_of_text = st.lists(st.tuples(st.text(max_size=20), st.integers(0, 1)), min_size=1, max_size=6)


@given(rows_of_text)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_rows_are_loaded_as_they_are_counted(folders, rows):
    rows = [("anchor", 1), *((text.encode("utf-8", "replace").decode(), label) for text, label in rows)]
    frame = pd.DataFrame(rows, columns=["text", "label"]).assign(split="train")
    frame.to_parquet(folders / "imdb.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        corpus = load(min_documents=1)
    known = [(tuple(sorted(tokenize(text))), 2 * label - 1) for text, label in rows if tokenize(text)]
    counts = corpus.counts.toarray().astype(int)
    found = [(tuple(sorted(np.repeat(corpus.vocabulary, row).tolist())), y) for row, y in zip(counts, corpus.labels)]
    assert sorted(found) == sorted(known)
    assert len(corpus.left_out) == len(rows) - len(known)
    assert corpus.fingerprint == fingerprint(*zip(*rows))
