"""The same seed gives the same bits in a fresh process, the same numbers with another number of threads, and a study
says what it was made from."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from attnlib import reviews
from attnlib.replication import SEEDS, provenance
from attnlib.results import stored

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = """
import sys
import numpy as np
from attnlib import Attention, SelectionProblem, gradient_flow, max_margin, regularization_path, train
from attnlib.sources import tilted_zipf

corpus = tilted_zipf(n=4000, size=3000, length=150, seed=0)  # large enough for two threads of our own
rng = np.random.default_rng(1)
model = Attention(*(0.3 * rng.standard_normal(shape) for shape in ((3000, 128), 128, 128)))
found = {}
for dtype in (np.float32, np.float64):
    trained = train(corpus, 128, 10, dtype=dtype, validation=corpus, progress=False)
    found |= {f"train {name} {np.dtype(dtype)}": getattr(trained.last, name) for name in ("E", "p")}
found |= {f"gradient {name}": x for name, x in zip("Epv", model.gradients(corpus))}
X, v, y = rng.standard_normal((8, 5, 40)), rng.standard_normal(40), rng.choice([-1.0, 1.0], 8)
problem = SelectionProblem.from_sequences(X, y, v)
for solver in ("NNLS", "CLARABEL"):
    found[f"margin {solver}"] = max_margin(problem, 5 * np.arange(8), solver=solver).p
orbit = gradient_flow(problem, length=200.0)
found |= {"flow point": orbit.points[-1], "flow tangent": orbit.tangents[-1], "flow loss": orbit.loss[-1]}
found["path"] = regularization_path(problem, [1.0], starts=1)
np.savez(sys.argv[1], **found)
"""
# the flow takes its steps where its error control, fed with rounding, says so
TOLERANCES = {"flow": 1e-6, "path": 1e-6}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two fresh processes with one thread, side by side, then one with two."""
    folder, found, started = tmp_path_factory.mktemp("runs"), {}, {}
    for name, threads in (("first", "1"), ("again", "1"), ("two threads", "2")):
        variables = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), threads)
        environ = os.environ | variables | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": str(len(started))}
        command = [sys.executable, "-c", PROGRAM, folder / f"{name}.npz"]
        started[name] = subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True)
    for name, process in started.items():
        _, errors = process.communicate()
        assert process.returncode == 0, errors
        found[name] = dict(np.load(folder / f"{name}.npz"))
    return found


def test_the_same_seed_gives_the_same_bits(runs):
    assert runs["first"].keys() == runs["again"].keys() and len(runs["first"]) == 13
    for name, x in runs["first"].items():
        np.testing.assert_array_equal(x, runs["again"][name], err_msg=name)


def test_the_number_of_threads_changes_rounding_only(runs):
    for name, x in runs["first"].items():
        tolerance = next((value for key, value in TOLERANCES.items() if key in name), 1e-10)
        y = runs["two threads"][name]
        assert np.abs(x - y).max() <= tolerance * max(1.0, np.abs(x).max()), name


def test_a_study_says_what_it_was_made_from():
    made = provenance("one", "other", 12.34)
    assert made["fingerprint"] == {"train": "one", "test": "other"} and made["seconds"] == 12.3
    assert made["seeds"] == list(SEEDS) and made["processes"] == 1 and made["date"].startswith("20")
    assert made["versions"]["numpy"] == np.__version__
    assert made["versions"]["python"] == sys.version.split()[0]


@pytest.mark.parametrize("name", reviews.NAMES)
def test_the_stored_studies_say_it_too(name):
    made = stored(name)[0]["provenance"]
    assert {len(mark) for mark in made["fingerprint"].values()} == {32} and len(made["table"]) == 32
    assert {"python", "numpy", "scipy", "scikit-learn"} <= made["versions"].keys()
    assert made["seeds"] and made["seconds"] > 0 and made["date"] and made["processes"] >= 1
