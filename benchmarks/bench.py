"""Side by side in one run, as ratios, on this machine, today: what the chapter "How fast, and why" shows.

    python benchmarks/bench.py              # all of it, and the table for the chapter, book/results/bench.json
    python benchmarks/bench.py flow margin  # some of it, printed only

The machine's speed changes from minute to minute, so everything that is compared is measured in turn, round after
round, and a ratio is that of two measurements of the same round. Shown are the median ratio and the middle half.
"""

import datetime
import importlib
import json
import os
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

CASES = ("gradient", "training", "flow", "margin", "trials")
STORED = Path(__file__).resolve().parents[1] / "book/results/bench.json"


def in_turn(routes: dict, rounds: int, warm: int = 1) -> dict[str, list[float]]:
    """Seconds of each route (name -> function without arguments), measured in turn: rounds of them a name."""
    seconds = {name: [] for name in routes}
    for k in range(rounds + warm):
        for name, route in routes.items():
            begun = time.perf_counter()
            route()
            if k >= warm:
                seconds[name].append(time.perf_counter() - begun)
    return seconds


def ratio(a, b) -> dict[str, float]:
    """a / b round by round: the median and the quartiles."""
    low, middle, high = np.percentile(np.divide(a, b), [25, 50, 75])
    return {"low": round(float(low), 3), "median": round(float(middle), 3), "high": round(float(high), 3)}


def spread(seconds) -> dict[str, float]:
    """The least, the median and the largest of some times, in milliseconds."""
    ms = 1e3 * np.asarray(seconds)
    return {"least": round(ms.min(), 3), "median": round(float(np.median(ms)), 3), "most": round(ms.max(), 3)}


def machine() -> dict:
    """What ran it, without the name of the host."""
    model = platform.processor() or platform.machine()
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        model = next((line.partition(":")[2].strip() for line in info if line.startswith("model name")), model)
    return {
        "date": datetime.date.today().isoformat(),
        "processor": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy", "torch", "cvxpy", "scikit-learn")},
    }


def main(names) -> None:
    unknown = set(names) - set(CASES)
    if unknown:
        sys.exit(f"no benchmark is called {min(unknown)!r}; there are {', '.join(CASES)}")
    found = {"machine": machine()}
    for name in names or CASES:
        print(f"\n{name}\n", flush=True)
        found[name] = importlib.import_module(name).measure()
        print(json.dumps(found[name], indent=1))
    if not names:
        STORED.write_text(json.dumps(found, indent=1) + "\n")
        print(f"\nstored in {STORED.relative_to(Path.cwd()) if STORED.is_relative_to(Path.cwd()) else STORED}")


if __name__ == "__main__":
    main(sys.argv[1:])
