"""The replication on small made reviews, and what is stored of it."""

import copy
import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

from attnlib import (
    Attention,
    Corpus,
    SelectionProblem,
    important_tokens,
    posterior_difference,
    replication,
    results,
    reviews,
    selected,
    train,
    two_stage,
)
from attnlib.__main__ import main
from attnlib.one_step import frequency, signed_frequency


@pytest.fixture
def made_reviews(tmp_path, monkeypatch):
    """Both sets as parquet files of made texts, and folders of this test's own for counts and results."""
    for name, (file, _) in reviews.NAMES.items():
        corpus = important_tokens(600, 12, important=3, irrelevant=30, seed=len(name), noise=0.05)
        words = np.array(corpus.vocabulary)
        texts = [" ".join(np.repeat(words, row.astype(int))) for row in corpus.counts.toarray()]
        splits = np.where(np.arange(600) < 400, "train", "test")
        frame = pd.DataFrame({"text": texts, "label": (corpus.labels > 0).astype(int), "split": splits})
        frame.to_parquet(tmp_path / file)
    monkeypatch.setenv("ATTNLIB_DATA", str(tmp_path))
    monkeypatch.setenv("ATTNLIB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    for module in (replication, two_stage):
        monkeypatch.setattr(module, "D", 8)
        monkeypatch.setattr(module, "OFTEN", 5)
    return tmp_path


def test_a_study_is_stored_and_read_back(made_reviews):
    assert main(["replicate", "imdb"]) == 0
    found, tokens, live = results.results("imdb")
    kept, table = results.stored("imdb")
    assert live
    assert results.changes(kept, found) == []
    sizes = {"train": 400, "test": 200, "left_out": 0, "tokens": 36, "counts": found["corpus"]["counts"]}
    assert kept["corpus"] == found["corpus"] == sizes
    assert json.dumps(kept)  # plain numbers, no NaN
    for column in ("q", "alpha", "delta", "z", "gamma"):
        np.testing.assert_allclose(table[column], tokens[column], rtol=1e-3, atol=1e-6)
    assert table["token"].tolist() == list(tokens["token"])
    assert not list((made_reviews / "results").glob("*.part"))


def test_without_data_the_stored_study_is_shown(made_reviews, monkeypatch):
    main(["replicate", "yelp"])
    monkeypatch.setattr(results, "available", lambda name: False)
    monkeypatch.setattr(results, "study", lambda *args, **options: pytest.fail("computed without data"))
    found, tokens, live = results.results("yelp")
    assert not live and found["corpus"]["train"] == 400 and len(tokens["z"]) == 36


def test_replicate_says_what_changed(made_reviews, capsys):
    main(["replicate", "imdb"])
    assert "first run" in capsys.readouterr().out
    main(["replicate", "imdb"])
    assert "as before" in capsys.readouterr().out
    kept, tokens = results.stored("imdb")
    kept["joint"]["runs"][1]["test_accuracy"] -= 0.01
    kept["provenance"]["fingerprint"]["train"] = "other"
    results.store("imdb", kept, tokens)
    main(["replicate", "imdb"])
    out = capsys.readouterr().out
    assert "seed 1: test_accuracy" in out and "another fingerprint" in out and "as before" not in out


def test_changes_within_tolerance_are_none(made_reviews):
    found, _ = results.study("imdb", progress=False)
    other = copy.deepcopy(found)
    other["joint"]["runs"][0]["z_delta"] += 0.019
    assert results.changes(found, other) == []
    other["joint"]["runs"][0]["z_delta"] += 0.002
    assert len(results.changes(found, other)) == 1


def test_unknown_name_is_refused(made_reviews, capsys):
    assert main(["replicate", "nowhere"]) == 2
    assert "nowhere" in capsys.readouterr().err


def test_the_margin_of_a_trained_model_is_certified():
    corpus = important_tokens(80, 6, 2, 8, seed=0)
    model = train(corpus, d=14, steps=60, progress=False).last
    found = two_stage.margin_study(corpus, model)
    assert found["certificate"] < 1e-9 and 0 < found["angle"] < np.pi / 2
    problem = model.problem(corpus)
    pairs = {(s, u) for row, s in zip(corpus.counts, selected(problem, model.p)) for u in row.indices if u != s}
    assert found["constraints"] == len(pairs)


def test_the_split_keeps_every_document_once():
    corpus = important_tokens(50, 5, 2, 6, seed=0)
    fitted, held_out = replication.split(corpus)
    assert (len(fitted), len(held_out)) == (40, 10)
    both = np.vstack([fitted.counts.toarray(), held_out.counts.toarray()])
    np.testing.assert_array_equal(both, corpus.counts.toarray())


def test_the_flow_in_function_space_is_the_flow_of_p():
    """Against keys written out: E0 = I, v a further axis, so that E1 E1' = I + (eta/2)^2 alpha alpha'."""
    corpus = important_tokens(60, 6, 2, 8, seed=1)
    tokens = {"alpha": signed_frequency(corpus), "delta": posterior_difference(corpus), "q": frequency(corpus)}
    tokens |= {"count": np.full(12, 100.0), "token": np.array(corpus.vocabulary)}
    found = two_stage.two_stage_study(corpus, corpus, tokens, eta=50.0, length=2.0)
    keys = np.hstack([np.eye(12), 25.0 * tokens["alpha"][:, None]])
    problem = SelectionProblem(keys, 25.0 * tokens["alpha"], corpus.counts, corpus.labels)
    p, n = np.zeros(13), 4000
    for _ in range(n):  # Euler steps, short enough
        p = p + 2.0 / n * problem.direction(p)
    assert found["curve"][-1][1] == pytest.approx(problem.loss(p), abs=2e-4)
    f = problem.logits(p)
    assert found["curve"][-1][3] == pytest.approx(((f * corpus.labels) > 0).mean(), abs=0.02)


def test_the_stored_studies_of_the_book_are_whole():
    for name in reviews.NAMES:
        found, tokens = results.stored(name)
        assert len(tokens["token"]) == found["corpus"]["tokens"] > 10_000
        assert np.isfinite(tokens["z"]).all() and np.isfinite(tokens["gamma"]).all()
        corpus = Corpus.from_tokens([["worst"], ["best"]], [-1, 1], vocabulary=tokens["token"].tolist())
        assert (corpus.counts @ tokens["gamma"] * corpus.labels > 0).all()


def test_the_one_step_study_against_dense_arithmetic(monkeypatch):
    monkeypatch.setattr(replication, "D", 8)
    corpus, test = (important_tokens(300, 8, 3, 20, seed=seed, positive=0.4, noise=0.1) for seed in (0, 1))
    found = replication.one_step_study(corpus, test)
    x, x_test = (c.counts.toarray() / c.counts.toarray().sum(axis=1, keepdims=True) for c in (corpus, test))
    alpha = (corpus.labels[:, None] * x).mean(axis=0)
    plain, centred = x_test @ alpha, x_test @ alpha - np.median(x @ alpha)
    assert found["class_mean_accuracy"] == np.mean(plain * test.labels > 0)
    assert found["class_mean_accuracy_with_threshold"] == np.mean(centred * test.labels > 0)
    assert found["class_mean_accuracy"] != found["class_mean_accuracy_with_threshold"]
    assert 0 < found["bound_ratio"] < 1
    assert [row[0] for row in found["rows"]] == [1e1, 1e2, 1e3, 1e4, 1e5]
    assert found["rows"][-1][1] > found["rows"][0][1] and found["rows"][-1][1] > 0.99


def test_sparsity_counts_tokens_written_out():
    corpus = important_tokens(40, 12, important=3, irrelevant=10, seed=0)
    rng = np.random.default_rng(0)
    model = Attention(rng.standard_normal((len(corpus.vocabulary), 4)), rng.standard_normal(4), np.eye(4)[0])
    rows = replication.sparsity_study(corpus, model, factors=(0, 1, 3))
    for factor, (norm, share, _) in zip((0, 1, 3), rows, strict=True):
        shares = []
        for row in corpus.counts.toarray().astype(int):
            s = softmax(factor * model.z[np.repeat(np.arange(len(row)), row)])
            shares.append(s.sum() ** 2 / (s @ s) / len(s))
        assert norm == pytest.approx(factor * np.linalg.norm(model.p))
        assert share == pytest.approx(np.mean(shares), rel=1e-10)
    assert rows[0][1] == pytest.approx(1)
