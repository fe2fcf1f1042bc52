"""The ledger: every claim holds, every control fails, bad claims are refused, and the book and the ledger agree."""

import importlib
import json
import os
import shutil
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import numpy as np
import pytest
import statements

from attnlib import claims
from attnlib.claims import run
from attnlib.claims.assumptions import ASSUMPTIONS

ROOT = Path(__file__).resolve().parents[1]
LEDGER = claims.ledger()
BOOK, STATED = statements.book(), statements.statements()


# --- every claim, measured ---


@pytest.fixture(scope="module")
def records():
    return {record.id: record for record in run.check_all(processes=2)}


@pytest.mark.parametrize("id", LEDGER)
def test_claim_holds_and_its_controls_fail(records, id):
    assert records[id].ok, run.line(records[id])


def test_residuals_are_not_negative(records):
    """An inequality that holds has the residual 0, or the table would show by how much it holds as if it were a miss."""
    for record in records.values():
        assert record.outcome.residual >= 0, record.id


@pytest.mark.parametrize("id", LEDGER)
def test_texts_are_short_and_whole(id):
    entry = LEDGER[id]
    assert entry.statement.endswith((".", ".)")) and "\n" not in entry.statement and len(entry.statement) <= 200
    assert entry.source and entry.seeds >= 1 and 0 < entry.share <= 1
    assert len({control.text for control in entry.controls}) == len(entry.controls)
    assert entry.share == 1 or entry.kind == "statistical"


NOT_DROPPED = {"settles": "no flow is known that diverges and does not settle"}


def test_every_assumption_is_used_and_dropped_somewhere():
    assumed = {name for entry in LEDGER.values() for name in entry.assumes}
    dropped = {control.drops for entry in LEDGER.values() for control in entry.controls}
    assert assumed == set(ASSUMPTIONS)
    assert assumed - dropped == set(NOT_DROPPED), "drop it in a control, or say in NOT_DROPPED why none can"


# --- the registry ---


@pytest.fixture
def registry(monkeypatch):
    """An empty registry, and a way to register in it: claim(residuals, control=residuals, **details)."""
    monkeypatch.setattr(claims, "_registered", {})

    def plant(measure, control=lambda rng: 1.0, id="thm-planted", **details):
        details = {"source": "here", "kind": "numeric", "tolerance": 1e-6, "seeds": 4} | details
        entry = claims.claim(id, "Planted.", **details)(measure)
        if control:
            entry.control("altered")(control)
        return entry

    return plant


def in_turn(*residuals):
    """A measurement that gives one residual a seed."""
    turns = iter(residuals)
    return lambda rng: next(turns)


def zero(rng):
    return 0.0


@pytest.mark.parametrize(
    "details, message",
    [
        ({"kind": "obvious"}, "thm-planted: kind is 'obvious', but one of exact, certified"),
        ({"kind": "exact", "tolerance": 1e-9}, "thm-planted: an exact claim has tolerance 0, not 1e-09"),
        ({"assumes": ("silence", "luck")}, "thm-planted: no assumption is called 'luck'; add it to attnlib/claims/ass"),
    ],
)
def test_bad_claims_are_refused(registry, details, message):
    with pytest.raises(ValueError, match=message):
        registry(zero, **details)


def test_two_claims_of_one_name_are_refused(registry):
    registry(zero)
    with pytest.raises(ValueError, match="two claims are called 'thm-planted'"):
        registry(zero)


def test_a_control_drops_only_what_is_assumed(registry):
    entry = registry(zero, assumes=("silence",))
    with pytest.raises(ValueError, match="thm-planted: a control drops 'barrier', which the claim does not assume"):
        entry.control("altered", drops="barrier")


def test_a_claim_without_a_control_is_refused(registry):
    registry(zero, control=None)
    with pytest.raises(ValueError, match="thm-planted has no negative control"):
        claims.ledger()


def test_a_sound_claim_passes(registry):
    registry(in_turn(0.0, 1e-7, 1e-6, 0.0))
    record = run.check("thm-planted")
    assert record.ok and record.outcome.residual == 1e-6 and record.controls[0].residual == 1.0


@pytest.mark.parametrize("residual", [2e-6, np.nan, np.inf])
def test_one_bad_seed_fails_a_claim(registry, residual):
    registry(in_turn(0.0, residual, 0.0, 0.0))
    record = run.check("thm-planted")
    assert not record.ok and not record.outcome.ok
    assert np.isfinite(residual) or record.outcome.error == f"the residual is {residual}"
    assert run.line(record).startswith("FAILED thm-planted")


@pytest.mark.parametrize("residual", [0.0, 1e-6, np.nan])
def test_a_control_that_does_not_fail_on_one_seed_is_reported(registry, residual):
    registry(zero, control=in_turn(1.0, residual, 1.0, 1.0))
    record = run.check("thm-planted")
    assert record.outcome.ok and not record.ok
    assert 'control "altered" did not fail' in run.line(record)


def test_a_measurement_that_raises_is_reported(registry):
    registry(lambda rng: 1 / 0)
    record = run.check("thm-planted")
    assert not record.ok and record.outcome.residual is None
    assert record.outcome.error == "ZeroDivisionError: division by zero" and record.outcome.error in run.line(record)


def test_a_control_that_raises_has_not_failed_as_it_must(registry):
    registry(zero, control=lambda rng: [][0])
    record = run.check("thm-planted")
    assert record.outcome.ok and not record.ok and "IndexError" in run.line(record)


@pytest.mark.parametrize("bad, passes", [(0, True), (2, True), (3, False)])
def test_a_statistical_claim_needs_its_share_of_seeds(registry, bad, passes):
    control = in_turn(*[1.0] * 3, *[0.0] * 7)  # beyond the share, so it has failed
    registry(in_turn(*[1.0] * bad, *[0.0] * (10 - bad)), control, kind="statistical", seeds=10, share=0.8)
    record = run.check("thm-planted")
    assert record.ok == passes and (record.outcome.residual == 0.0) == passes
    assert record.controls[0].ok and record.controls[0].residual == 1.0


def test_seeds_give_the_same_numbers_again_and_other_claims_others(registry):
    first, second = (registry(lambda rng: rng.random(), id=id) for id in ("thm-one", "thm-two"))
    assert (first.residuals(first.measure, 3) == first.residuals(first.measure, 3)).all()
    assert not (first.residuals(first.measure, 3) == second.residuals(second.measure, 3)).any()


# --- the command line ---


def attnlib(*arguments, root=ROOT):
    command = [sys.executable, "-m", "attnlib", "check", *arguments]
    # the copy of the package comes first, and an editable install of it later or not at all
    return subprocess.run(command, cwd=root, env=os.environ | {"PYTHONPATH": str(root)}, capture_output=True, text=True)


def test_the_table():
    found = attnlib("cor-step", "prop-bag", "--seeds", "2")
    lines = sorted(found.stdout.splitlines())
    assert found.returncode == 0 and found.stderr == ""
    assert lines[0].startswith("2 claims, 2 checked and holding") and lines[0].endswith("5 negative controls")
    assert lines[1].startswith("ok     cor-step") and "2 seeds  4/4 controls fail" in lines[1]


def test_json_is_json_and_in_the_ledgers_order():
    found = attnlib("prop-bag", "cor-step", "--json")
    records = json.loads(found.stdout)
    assert found.returncode == 0 and [record["id"] for record in records] == ["prop-bag", "cor-step"]
    assert all(record["ok"] and record["outcome"]["residual"] <= record["tolerance"] for record in records)
    assert records[0]["seeds"] == LEDGER["prop-bag"].seeds and records[0]["controls"][0]["residual"] > 1e-3


PLANTED = """
@claim("thm-planted", "One is nothing.", source="planted", kind="exact", tolerance=0, seeds=1)
def planted(rng):
    return 1.0


@planted.control("two")
def _(rng):
    return 2.0
"""


def test_a_claim_that_fails_is_an_error(tmp_path):
    shutil.copytree(ROOT / "attnlib", tmp_path / "attnlib", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "attnlib/claims/model.py").open("a") as chapter:
        chapter.write(PLANTED)
    found = attnlib("thm-planted", "prop-bag", root=tmp_path)
    assert found.returncode == 1
    assert "FAILED thm-planted" in found.stdout and "ok     prop-bag" in found.stdout
    assert "2 claims, 1 checked and holding" in found.stdout


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["thm-exact"], "attnlib: no claim is called 'thm-exact'; there is thm-exact-step"),
        (["thm-nonsense"], "attnlib: no claim is called 'thm-nonsense'"),
        (["--seeds", "0"], "attnlib: --seeds is 0, but at least 1 is needed"),
    ],
)
def test_unusable_input(arguments, message):
    found = attnlib(*arguments)
    assert found.returncode == 2 and found.stdout == "" and found.stderr.strip() == message


# --- the book and the ledger ---


def test_every_statement_has_a_label():
    for chapter in BOOK.values():
        for statement in chapter.statements:
            assert statement.label, f"{chapter.name}.md, line {statement.start}: {statement.kind} without a label"


def test_every_statement_has_a_claim_and_every_claim_a_statement():
    claimed = {label: statement.chapter for label, statement in STATED.items() if statement.claimed}
    assert claimed == {id: entry.chapter for id, entry in LEDGER.items()}


@pytest.mark.parametrize("id", LEDGER)
def test_a_claim_rests_on_what_its_proof_names(id):
    assert set(LEDGER[id].rests) == STATED[id].rests
    assert len(set(LEDGER[id].rests)) == len(LEDGER[id].rests)


def test_what_proofs_name_is_there():
    named = {label for statement in STATED.values() for label in (*statement.refs, *statement.proof_refs)}
    assert named <= set(STATED)


def test_no_statement_rests_on_itself():
    order = list(TopologicalSorter({id: entry.rests for id, entry in LEDGER.items()}).static_order())
    assert order.index("prop-bag") < order.index("thm-selection")


@pytest.mark.parametrize("chapter", BOOK)
def test_every_numbered_equation_is_stated_measured_or_a_definition(chapter):
    covered = {label for entry in LEDGER.values() if entry.chapter == chapter for label in entry.covers}
    has_claims = (ROOT / f"attnlib/claims/{chapter}.py").exists()
    module = importlib.import_module(f"attnlib.claims.{chapter}") if has_claims else None
    defines = set(getattr(module, "DEFINES", ()))
    assert covered | defines == set(BOOK[chapter].equations) and not covered & defines


def test_the_reader_of_the_book():
    source = """
Text with {prf:ref}`lem-outside`.

````{prf:theorem} A title, with $x$
:label: thm-a

Let {prf:ref}`ass-b` hold. Then

```{math}
:label: eq-inside
x
```
````

Between, and $$y$$ (eq-between)

```{code-cell} python
print("````{prf:lemma} not a lemma")
```

:::{prf:proof}
By {prf:ref}`this lemma <lem-c>`,

$$
z
$$ (eq-proof)
:::

```{prf:lemma}
:label: lem-quoted
As in {prf:ref}`thm-a`.
```
"""
    chapter = statements.parse(source, "sample")
    theorem, lemma = chapter.statements
    assert (theorem.label, theorem.kind, theorem.title, theorem.chapter) == (
        "thm-a",
        "theorem",
        "A title, with $x$",
        "sample",
    )
    lines = source.splitlines()
    assert lines[theorem.start - 1].startswith("````{prf:theorem}") and lines[theorem.end - 1] == "````"
    assert [lines[start - 1] + lines[end - 1] for start, end in theorem.proofs] == [":::{prf:proof}:::"]
    assert theorem.refs == ["ass-b"] and theorem.proof_refs == ["lem-c"] and theorem.rests == {"lem-c"}
    assert theorem.equations == ["eq-inside", "eq-proof"] and list(chapter.equations) == ["eq-between"]
    assert lemma.rests == {"thm-a"} and lemma.proofs == []


@pytest.mark.parametrize(
    "source, message",
    [
        ("```{prf:proof}\nClear.\n```", "sample.md, line 1: a proof, but no statement before it"),
        ("\n```{prf:lemma} A\n:label: lem-a\n", "sample.md, line 2: the block 'prf:lemma' does not end"),
    ],
)
def test_a_broken_source_is_refused(source, message):
    with pytest.raises(ValueError, match=message):
        statements.parse(source, "sample")
