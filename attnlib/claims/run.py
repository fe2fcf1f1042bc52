"""Running the ledger: every measurement and every control, in parallel, into one table of plain numbers."""

import multiprocessing
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field

import numpy as np

from ..threads import blas
from . import Claim, ledger


@dataclass(frozen=True)
class Outcome:
    """What one measurement gave: the deciding residual (the largest of a claim, the smallest of a control, or the one
    at the share asked for), or the error that stopped it."""

    residual: float | None
    ok: bool
    error: str = ""
    text: str = ""
    drops: str | None = None


@dataclass(frozen=True)
class Record:
    """A claim, measured."""

    id: str
    chapter: str
    kind: str
    statement: str
    source: str
    tolerance: float
    seeds: int
    share: float
    seconds: float
    outcome: Outcome
    controls: list[Outcome] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """The claim holds and all its controls fail."""
        return self.outcome.ok and all(control.ok for control in self.controls)


def check(id: str, seeds: int | None = None) -> Record:
    """Measure one claim and its controls, on as many seeds as it asks for or as are given."""
    entry = ledger()[id]
    start = time.perf_counter()
    with blas().limit(limits=1):
        outcome = _attempt(entry, entry.measure, seeds, entry.passes, np.max)
        controls = [
            _attempt(entry, control.measure, seeds, entry.refutes, np.min, text=control.text, drops=control.drops)
            for control in entry.controls
        ]
    told = {
        name: getattr(entry, name) for name in ("id", "chapter", "kind", "statement", "source", "tolerance", "share")
    }
    return Record(
        **told, seeds=seeds or entry.seeds, seconds=time.perf_counter() - start, outcome=outcome, controls=controls
    )


def _attempt(entry: Claim, measure, seeds, verdict, extreme, **told) -> Outcome:
    try:
        residuals = entry.residuals(measure, seeds or entry.seeds)
    except Exception as error:  # a measurement that cannot be made has neither passed nor failed as it should
        return Outcome(None, False, f"{type(error).__name__}: {error}", **told)
    deciding = extreme(residuals) if entry.share == 1 else np.quantile(residuals, entry.share, method="inverted_cdf")
    finite = float(deciding) if np.isfinite(deciding) else None
    return Outcome(finite, verdict(residuals), "" if finite is not None else f"the residual is {deciding}", **told)


def check_all(ids: Iterable[str] = (), seeds: int | None = None, processes: int = 2) -> Iterator[Record]:
    """Measure the claims named, or all, in several processes, and yield each record as it comes."""
    known = ledger()
    ids = list(dict.fromkeys(ids)) or list(known)
    for id in ids:
        if id not in known:
            near = [other for other in known if id in other]
            raise ValueError(f"no claim is called {id!r}" + (f"; there is {', '.join(near)}" if near else ""))
    # fresh processes: forked ones would inherit the locks of thread pools that no longer run
    with ProcessPoolExecutor(min(processes, len(ids)), multiprocessing.get_context("spawn")) as pool:
        for done in as_completed([pool.submit(check, id, seeds) for id in ids]):
            yield done.result()


def line(record: Record) -> str:
    """A record as a line of the terminal's table, and below it whatever went wrong."""
    shown = "none" if record.outcome.residual is None else f"{record.outcome.residual:.1e}"
    failed = sum(control.ok for control in record.controls)
    verdict = "ok" if record.ok else "FAILED"
    text = (
        f"{verdict:6} {record.id:22} {record.kind:11} {shown:>7} <= {record.tolerance:.0e}  {record.seeds:3} seeds  "
        f"{failed}/{len(record.controls)} controls fail  {record.seconds:5.1f} s"
    )
    wrong = [record.outcome.error] if record.outcome.error else []
    for control in record.controls:
        if not control.ok:
            wrong.append(f'control "{control.text}" did not fail: {control.error or control.residual}')
    return "\n       ".join([text, *wrong])


def as_json(records: Iterable[Record]) -> list[dict]:
    """Records as plain dictionaries, in the ledger's order."""
    order = {id: k for k, id in enumerate(ledger())}
    return [asdict(record) | {"ok": record.ok} for record in sorted(records, key=lambda record: order[record.id])]


def tally(records: Iterable[dict]) -> str:
    """One sentence: how many claims, how many hold, by kind of evidence."""
    records = list(records)
    kinds = [record["kind"] for record in records]
    parts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    held, controls = sum(record["ok"] for record in records), sum(len(record["controls"]) for record in records)
    return f"{len(records)} claims, {held} checked and holding ({parts}); {controls} negative controls"
