"""Hypothesis profiles: `ci` by default, `nightly` by HYPOTHESIS_PROFILE=nightly."""

import os

from hypothesis import settings

settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True, database=None)
settings.register_profile("nightly", max_examples=2000, deadline=None, print_blob=True, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_terminal_summary(terminalreporter):
    """The time each chapter took, when it was last executed; and which claim noticed which planted error."""
    told = [(report.nodeid, *told) for report in terminalreporter.getreports("") for told in report.user_properties]
    times = [(nodeid, seconds) for nodeid, name, seconds in told if name == "chapter seconds"]
    if times:
        terminalreporter.section("chapters, seconds to run")
        for nodeid, seconds in times:
            terminalreporter.line(f"{seconds:8.1f}  {nodeid.partition('[')[2].partition(']')[0]}")
    kills = [kill for _, name, kill in told if name == "killed"]
    if kills:
        terminalreporter.section(f"planted errors: {sum(bool(red) for _, red in kills)} of {len(kills)} noticed")
        for mutant, red in kills:
            for id, found in red or [("SURVIVES", "")]:
                terminalreporter.line(f"{mutant:58} {id:18} {found[:60]}")
