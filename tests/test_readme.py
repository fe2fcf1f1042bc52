"""What the README shows runs."""

import re
from pathlib import Path

import numpy as np

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
