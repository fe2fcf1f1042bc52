"""What the README shows runs."""

import re
from pathlib import Path

import numpy as np

from attnlib.results import stored

README = (Path(__file__).resolve().parents[1] / "README.md").read_text()


def test_the_library_in_ten_lines():
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    names = {}
    exec(code, names)
    np.testing.assert_allclose(names["model"].gamma, 3.0 * names["signed_frequency"](names["corpus"]))


def test_every_room_is_listed():
    rooms = {f"attnlib/{path.name}" for path in Path(__file__).resolve().parents[1].glob("attnlib/*.py")}
    listed = set(re.findall(r"`(attnlib/\w+\.py)`", README))
    assert listed <= rooms and rooms - listed == {"attnlib/__init__.py", "attnlib/__main__.py", "attnlib/checks.py"}


def test_the_commands_exist():
    makefile = (Path(__file__).resolve().parents[1] / "Makefile").read_text()
    for target in set(re.findall(r"`make (\w+)", README)):
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_the_results_are_the_stored_ones():
    rows = {
        cells[1].strip(): cells[2:4] for cells in (line.split("|") for line in README.splitlines()) if len(cells) == 5
    }
    for column, name in enumerate(("imdb", "yelp")):
        found, _ = stored(name)
        told = {label: values[column].strip() for label, values in rows.items()}
        corpus, runs = found["corpus"], found["joint"]["runs"]
        assert told["documents, training and test"] == f"{corpus['train']:,} + {corpus['test']:,}"
        for label, key in (
            ("rank correlation of score and size of the posterior difference, 5 seeds", "z_delta"),
            ("test accuracy, 5 seeds", "test_accuracy"),
        ):
            values = [run[key] for run in runs]
            assert told[label] == f"{min(values):.3f} to {max(values):.3f}"
        assert told["logistic regression on the same counts"] == f"{found['logistic']['test_accuracy']:.3f}"


def test_the_picture_is_there():
    (path,) = re.findall(r"!\[[^]]{40,}\]\(([^)]+)\)", README)
    assert (Path(__file__).resolve().parents[1] / path).stat().st_size > 10_000
