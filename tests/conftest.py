"""Hypothesis profiles: `ci` by default, `nightly` by HYPOTHESIS_PROFILE=nightly."""

import os

from hypothesis import settings

settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True, database=None)
settings.register_profile("nightly", max_examples=2000, deadline=None, print_blob=True, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_terminal_summary(terminalreporter):
    """The time each chapter took, when it was last executed."""
    times = [
        (report.nodeid, seconds)
        for report in terminalreporter.getreports("passed")
        for name, seconds in report.user_properties
        if name == "chapter seconds"
    ]
    if times:
        terminalreporter.section("chapters, seconds to run")
        for nodeid, seconds in times:
            terminalreporter.line(f"{seconds:8.1f}  {nodeid.partition('[')[2].partition(']')[0]}")
