"""Hypothesis profiles: `ci` by default, `nightly` by HYPOTHESIS_PROFILE=nightly."""

import os

from hypothesis import settings

settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True, database=None)
settings.register_profile("nightly", max_examples=2000, deadline=None, print_blob=True, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
