"""The command line: python -m attnlib COMMAND."""

import argparse
import json
import os
import sys

from . import explain, reviews

LARGEST = 50_000_000  # bytes of text


def main(arguments=None) -> int:
    """Run one command; 0 if all went well, 1 if a claim does not hold, 2 if the input was not usable."""
    parser = argparse.ArgumentParser("python -m attnlib", description="How attention chooses tokens.")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    add_explain(commands)
    add_replicate(commands)
    add_trials(commands)
    add_check(commands)
    options = parser.parse_args(arguments)
    sys.stdout.reconfigure(errors="replace")  # a terminal that cannot show a letter shows a question mark
    try:
        code = options.run(options)
        sys.stdout.flush()
    except (ValueError, OSError) as error:
        if isinstance(error, BrokenPipeError):  # the reader of our output, `head` perhaps, has had enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        print(f"attnlib: {explain.printable(str(error))}", file=sys.stderr)
        return 2
    return code or 0


def add_explain(commands) -> None:
    parser = commands.add_parser(
        "explain", help="what the trained model attends to in a text", description=explain.__doc__.splitlines()[0]
    )
    parser.add_argument("text", nargs="?", help="the text; without it and --file, standard input is read")
    parser.add_argument("--file", help="a file with the text, in UTF-8")
    parser.add_argument("--corpus", choices=list(reviews.NAMES), default="imdb", help="what the model was trained on")
    parser.add_argument("--top", type=int, default=20, help="how many tokens to list (default 20)")
    parser.set_defaults(run=run_explain)


def run_explain(options) -> None:
    found = explain.explain(read_text(options), explain.read_table(options.corpus))
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
        print(explain.coloured(found), end="\n\n")
    print(explain.summary(found, max(options.top, 0)))


def add_replicate(commands) -> None:
    parser = commands.add_parser("replicate", help="compute the studies of the real corpora anew and store them")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(reviews.NAMES)}; all if none is given")
    parser.set_defaults(run=run_replicate)


def run_replicate(options) -> None:
    from . import results, shards  # here, because `explain` needs none of what these import

    with shards.join() as team:
        if team.rank == 0:
            results.check_room()
        for name in options.names or reviews.NAMES:
            if team.rank:
                results.study(name, team=team)
            else:
                replicate(name, results, team)


def replicate(name, results, team) -> None:
    """Compute, compare with what is stored, store, and say so: in the first process of a team."""
    print(f"{name}:", flush=True)
    found, tokens = results.study(name, team=team)
    differences = ["first run"]
    if results.has_stored(name):
        try:
            differences = results.changes(results.stored(name)[0], found) or ["as before, within tolerance"]
        except ValueError as error:
            differences = [f"what was stored is replaced: {error}"]
    results.store(name, found, tokens)
    print("\n".join(f"  {line}" for line in differences))
    print(f"  {found['provenance']['seconds']} s, fingerprint {found['provenance']['fingerprint']['train']}")
    if team.world > 1:
        print(f"  {team.world} processes: {team.messages} all-reduces so far, {team.sent:,} bytes sent by each")


def add_trials(commands) -> None:
    parser = commands.add_parser(
        "trials", help="compute the random trials of paper B's Figures 9 and 10 anew and store them"
    )
    parser.set_defaults(run=run_trials)


def run_trials(options) -> None:
    from . import trials

    found = trials.study()
    before = trials.summary(trials.stored()) if (trials.RESULTS / "trials.json").is_file() else None
    trials.store(found)
    lines = trials.summary(found)
    print("\n".join(lines))
    print("first run" if before is None else "as before" if before == lines else "other than before")
    print(f"{found['provenance']['seconds']} s")


def add_check(commands) -> None:
    parser = commands.add_parser("check", help="measure the claims of the book, and the controls that must fail")
    parser.add_argument("ids", nargs="*", metavar="ID", help="labels of statements; all claims if none is given")
    parser.add_argument("--seeds", type=int, help="random cases a claim, instead of as many as it asks for")
    parser.add_argument("--json", action="store_true", help="print the records as JSON and nothing else")
    parser.set_defaults(run=run_check)


def run_check(options) -> int:
    from .claims import run  # here, because it imports PyTorch and takes a second or two

    if options.seeds is not None and options.seeds < 1:
        raise ValueError(f"--seeds is {options.seeds}, but at least 1 is needed")
    records = []
    for record in run.check_all(options.ids, options.seeds):
        records.append(record)
        if not options.json:
            print(run.line(record), flush=True)
    plain = run.as_json(records)
    print(json.dumps(plain, indent=1) if options.json else run.tally(plain))
    return 0 if all(record.ok for record in records) else 1


def read_text(options) -> str:
    if options.text is not None and options.file is not None:
        raise ValueError("give a text or --file, not both")
    if options.text is not None:
        return options.text
    if options.file is not None:
        name = options.file
        with open(name, "rb") as source:
            data = source.read(LARGEST + 1)
    else:
        name, data = "standard input", sys.stdin.buffer.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError(f"{name} is longer than {LARGEST} bytes")
    if b"\0" in data:
        raise ValueError(f"{name} is not text: it holds a zero byte")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not text in UTF-8: byte {error.start} is 0x{data[error.start]:02x}") from error


if __name__ == "__main__":
    sys.exit(main())
