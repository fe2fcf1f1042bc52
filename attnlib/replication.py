"""The replication on real reviews: all that the chapters on IMDB and Yelp show.

A study is a dict of plain numbers and lists, so that it can be stored as JSON, and a table with one row a token. It
carries its provenance: the data's fingerprint, versions, seeds, seconds and date.
"""

import platform
import time
import warnings
from datetime import date
from importlib.metadata import version

import numpy as np
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression

from .attention import Attention
from .corpus import Corpus
from .one_step import frequency, one_step, posterior_difference, remainder_bound, signed_frequency
from .reviews import load_corpus
from .shards import ALONE, Team
from .training import accuracy, train
from .two_stage import OFTEN, D, finite_study, margin_study, two_stage_study

SEEDS = range(5)


def study(name: str, progress: bool = True, team: Team = ALONE) -> tuple[dict, dict[str, np.ndarray]]:
    """Everything the chapter shows: the results, and per token q, alpha, delta, z, gamma and its count.

    In a team the joint training is done on shards of the documents. Everything else is the first process's work, and
    only the first returns all results.
    """
    begun = time.perf_counter()
    if team.rank:
        team.wait()  # the first counts the words, the others find its counts stored
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "left out")  # the results say how many
        whole = load_corpus(name, progress=progress)
        test = load_corpus(name, "test", vocabulary=whole.vocabulary, progress=progress)
    if not team.rank:
        team.wait()
    fitted, held_out = split(whole)
    tokens = {
        "token": np.array(whole.vocabulary),
        "q": frequency(whole),
        "alpha": signed_frequency(whole),
        "delta": posterior_difference(whole),
        "count": whole.counts.sum(axis=0),
    }
    if team.rank:
        return joint_study(whole, fitted, held_out, test, tokens, progress=False, team=team), tokens
    results = {
        "corpus": {
            "train": len(whole),
            "test": len(test),
            "left_out": len(whole.left_out) + len(test.left_out),
            "tokens": len(whole.vocabulary),
            "counts": whole.counts.nnz,
        },
        "one_step": one_step_study(whole, test),
        "two_stage": two_stage_study(whole, test, tokens) | {"finite": finite_study(whole, test)},
        "joint": joint_study(whole, fitted, held_out, test, tokens, progress, team),
        "logistic": logistic_study(fitted, held_out, test),
        "provenance": provenance(whole.fingerprint, test.fingerprint, time.perf_counter() - begun, team),
    }
    return results, tokens


def split(corpus: Corpus, held_out: float = 0.2) -> tuple[Corpus, Corpus]:
    """The corpus in two, the last share held out: its rows come in the order of their digests, that is at random."""
    cut = round((1 - held_out) * len(corpus))
    parts = ((corpus.counts[rows], corpus.labels[rows]) for rows in (slice(cut), slice(cut, None)))
    return tuple(Corpus(C, y, corpus.vocabulary) for C, y in parts)


def one_step_study(corpus: Corpus, test: Corpus, seed: int = 0) -> dict:
    """gamma^1 against (eta/2) alpha from a Gaussian start, for growing steps; and the class-mean classifier."""
    rng = np.random.default_rng(seed)
    size, alpha, q = len(corpus.vocabulary), signed_frequency(corpus), frequency(corpus)
    E, p, v = (rng.standard_normal(shape) / D**0.5 for shape in ((size, D), D, D))
    start = Attention(0.1 * E, 0.1 * p, v / np.linalg.norm(v))
    R = np.linalg.norm(-start.gradients(corpus).E - np.outer(alpha, start.v) / 2, axis=1)
    rows = []
    for eta in (1e1, 1e2, 1e3, 1e4, 1e5):
        gamma, expected = one_step(start, corpus, eta).gamma, eta / 2 * alpha
        rows.append((eta, np.corrcoef(expected, gamma)[0, 1], expected @ gamma / (expected @ expected)))
    means, shares = (C.counts.multiply(1 / C.lengths[:, None]).tocsr() @ alpha for C in (corpus, test))
    return {
        "rows": np.array(rows).tolist(),
        "bound_ratio": float((R / remainder_bound(start, corpus))[q > 0].max()),
        "class_mean_accuracy": accuracy(shares, test.labels),
        "class_mean_accuracy_with_threshold": accuracy(shares - np.median(means), test.labels),
    }


def joint_study(whole, fitted, held_out, test, tokens, progress=True, team=ALONE) -> dict:
    """(E, p) trained together from several seeds, stopped early on held-out documents; the first goes to the table."""
    often, size = tokens["count"] >= OFTEN, np.abs(tokens["delta"])
    mine, judged = team.shard(fitted), team.shard(held_out)
    runs = []
    for seed in SEEDS:
        training = train(mine, D, steps=60, seed=seed, validation=judged, patience=15, progress=progress, team=team)
        best, z, gamma = int(np.argmax(training.history["accuracy"])), training.model.z, training.model.gamma
        runs.append(
            {
                "seed": seed,
                "step": best,
                "held_out_accuracy": training.history["accuracy"][best],
                "test_accuracy": accuracy(training.model.logits(test), test.labels),
                "z_delta": spearmanr(z[often], size[often])[0],
                "gamma_alpha": spearmanr(gamma[often], tokens["alpha"][often])[0],
            }
        )
        if seed == SEEDS[0]:
            tokens["z"], tokens["gamma"], first = z.astype(float), gamma.astype(float), training
    over_time, by_delta, training = [], [], None
    bins = np.digitize(tokens["delta"][often], np.linspace(-0.8, 0.8, 9))  # ten of width 0.2
    for step in range(5, 41, 5):
        training = train(mine, D, steps=5, seed=SEEDS[0], start=training, progress=False, team=team)
        z, gamma = training.last.z, training.last.gamma
        ranks = (spearmanr(z[often], size[often])[0], spearmanr(gamma[often], tokens["alpha"][often])[0])
        by_delta.append([float(z[often][bins == k].mean()) if (bins == k).any() else 0.0 for k in range(10)])
        over_time.append((step, *map(float, ranks), accuracy(training.last.logits(test), test.labels)))
    rng = np.random.default_rng(0)
    mixed = Corpus(fitted.counts, rng.permutation(fitted.labels), fitted.vocabulary)
    control = train(team.shard(mixed), D, steps=int(runs[0]["step"]), progress=progress, team=team).last
    if team.rank:
        return {}
    unseen = np.abs(posterior_difference(test))
    seen_twice = often & np.isfinite(unseen)

    def rank(x, y, rows=often):
        return float(spearmanr(x[rows], y[rows])[0])

    draws = rng.choice(np.flatnonzero(often), size=(1000, often.sum()))
    interval = np.quantile([spearmanr(tokens["z"][rows], size[rows])[0] for rows in draws], (0.025, 0.975))
    return {
        "runs": [{key: float(value) for key, value in run.items()} for run in runs],
        "over_time": over_time,
        "z_by_delta": by_delta,
        "bootstrap": interval.tolist(),
        "unseen": {"z": rank(tokens["z"], unseen, seen_twice), "ceiling": rank(size, unseen, seen_twice)},
        "shuffled": {
            "own": rank(control.z, np.abs(posterior_difference(mixed))),
            "true": rank(control.z, size),
            "test_accuracy": accuracy(control.logits(test), test.labels),
        },
        "history": {key: values.tolist() for key, values in first.history.items()},
        "margin": margin_study(whole, first.last),
        "sparsity": sparsity_study(test, first.model),
    }


def sparsity_study(corpus: Corpus, model: Attention, factors=(0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8)) -> list:
    """For p scaled by each factor: |p|, the mean over documents of |s|_1^2 / (T_i |s|_2^2), and the accuracy.

    s is the attention of the T_i tokens written out: its squared norm is sum_s A_is^2 / C_is, and a document whose
    attention is uniform has 1.
    """
    rows = []
    for factor in factors:
        scaled = Attention(model.E, model.p * model.p.dtype.type(factor), model.v)
        A = scaled.attention(corpus)
        A.data = A.data.astype(np.float64) ** 2 / corpus.counts.data  # one stored entry a stored count
        spread = 1 / (A.sum(axis=1) * corpus.lengths)
        rows.append((np.linalg.norm(scaled.p), spread.mean(), accuracy(scaled.logits(corpus), corpus.labels)))
    return np.array(rows).tolist()


def logistic_study(fitted: Corpus, held_out: Corpus, test: Corpus) -> dict:
    """Bag-of-words logistic regression on the same vocabulary and features C/T, its penalty chosen on held-out."""
    x, x_held, x_test = (
        C.counts.multiply(fitted.lengths.mean() / C.lengths[:, None]).tocsr() for C in (fitted, held_out, test)
    )
    tried = []
    for strength in (0.01, 0.1):
        model = LogisticRegression(C=strength, max_iter=1000, tol=1e-3).fit(x, fitted.labels)
        held = accuracy(model.decision_function(x_held), held_out.labels)
        tried.append((held, strength, accuracy(model.decision_function(x_test), test.labels)))
    held, strength, found = max(tried)
    return {"C": strength, "held_out_accuracy": held, "test_accuracy": found}


def provenance(train_mark: str, test_mark: str, seconds: float, team: Team = ALONE) -> dict:
    packages = {package: version(package) for package in ("numpy", "scipy", "scikit-learn")}
    return {
        "fingerprint": {"train": train_mark, "test": test_mark},
        "seeds": list(SEEDS),
        "processes": team.world,
        "versions": {"python": platform.python_version()} | packages,
        "seconds": round(seconds, 1),
        "date": date.today().isoformat(),
    }
