"""Explaining a text from the stored table: the same attention as the model, and nothing raw to the terminal."""

import argparse
import io
import os
import re
import subprocess
import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from attnlib import Attention, Corpus
from attnlib import __main__ as command
from attnlib import explain as room
from attnlib.corpus import tokenize
from attnlib.explain import coloured, explain, printable, read_table, summary

TABLE = {"good": (1.0, 2.0), "bad": (1.5, -2.0), "film": (0.0, 0.1), "the": (-2.0, 0.0), "wasn't": (0.5, -1.0)}
ESCAPES = re.compile(r"\x1b\[(?:0|2|38;5;\d+;48;5;\d+)m")


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A small table for each corpus, where the command looks for it."""
    for corpus, sign in (("imdb", 1), ("yelp", -1)):
        rows = [f"{token},0.1,0.01,0.1,{z},{sign * gamma}" for token, (z, gamma) in TABLE.items()]
        (tmp_path / f"{corpus}_tokens.csv").write_text("token,q,alpha,delta,z,gamma\n" + "\n".join(rows) + "\n")
    monkeypatch.setattr(room, "RESULTS", tmp_path)
    return tmp_path


@given(st.lists(st.sampled_from([*TABLE, "unheard"]), min_size=1, max_size=30))
def test_attention_and_logit_are_those_of_the_model(words):
    found = explain(" ".join(words), TABLE)
    assert [word.token for word in found.words] == words
    assert [word.attention is None for word in found.words] == [word not in TABLE for word in words]
    if all(word not in TABLE for word in words):
        assert found.f is None
        return
    z, gamma = np.array(list(TABLE.values())).T
    model = Attention(np.stack([z, gamma], axis=1), [1.0, 0.0], [0.0, 1.0])
    corpus = Corpus.from_texts([" ".join(words)], [1], list(TABLE))
    assert found.f == pytest.approx(model.logits(corpus)[0], abs=1e-12)
    A = dict(zip(TABLE, model.attention(corpus).toarray()[0]))
    for token in TABLE:
        mine = sum(word.attention for word in found.words if word.token == token)
        assert mine == pytest.approx(A[token], abs=1e-12)


@given(st.text(max_size=40))
@example("It wasn\u2019t GOOD.<BR />The film, \u0130stanbul")
@example("A\u03a3.A \u1e9e")
def test_words_are_those_of_the_tokenizer_and_stand_where_they_are_said_to(text):
    found = explain(text, TABLE)
    assert [word.token for word in found.words] == tokenize(text)
    assert len(found.text) >= len(text)
    for word in found.words:
        assert len(found.text[word.start : word.stop]) == len(word.token)
        if found.text == text:
            assert text[word.start : word.stop].lower().replace("\u2019", "'")[:1] == word.token[:1]


def test_the_text_keeps_its_case():
    found = explain("It WASN\u2019T Good.<br />The Film", TABLE)
    assert [found.text[word.start : word.stop] for word in found.words] == "It WASN\u2019T Good The Film".split()


@given(st.text(alphabet=st.characters(), max_size=60))
@example("\x1b]0;title\x07\x1b[2J good \x9b31m \u202e bad \ud800 \u2028")
def test_nothing_raw_reaches_the_terminal(text):
    found = explain(text, TABLE)
    for shown in (ESCAPES.sub("", coloured(found)), summary(found), printable(text)):
        kinds = {unicodedata.category(x) for x in shown if x != "\n"}
        assert not kinds & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def test_colours_say_sign_and_attention():
    shown = coloured(explain("good bad good film the unheard", {**TABLE, "good": (1.45, 2.0)}))
    good, bad = (int(re.search(rf"48;5;(\d+)m{word}", shown).group(1)) for word in ("good", "bad"))
    assert good in room.BLUE and bad in room.ORANGE
    assert room.BLUE.index(good) >= 3 and bad == room.ORANGE[-1]
    assert "\x1b[2munheard\x1b[0m" in shown and re.search(r" the ", shown)
    assert ESCAPES.sub("", shown).startswith("good bad good film the unheard\n")


def test_a_very_long_text():
    text = " ".join(["good", "film", "unheard", "the"] * 25_000 + [f"word{k}" for k in range(500)])
    found = explain(text, TABLE)
    assert len(found.words) == 100_500
    assert "... and 98500 more words" in coloured(found) and coloured(found).count("film") == 500
    assert len(summary(found).splitlines()) < 30 and "and 481 more" in summary(found)
    assert "\u2026" in summary(explain("x" * 100_000, TABLE)) and len(summary(explain("x" * 100_000, TABLE))) < 100


def test_summary():
    lines = summary(explain("A good, good film", TABLE)).splitlines()
    e = np.exp(1)
    f = (4 * e + 0.1) / (2 * e + 1)
    assert lines[0] == f"f = {f:+.3f}: positive, P(positive) = {1 / (1 + np.exp(-f)):.3f}; 4 words, 3 known"
    assert lines[3].split() == ["good", "2", f"{2 * e / (2 * e + 1):.4f}", "+2.000"]
    assert lines[-1] == "unknown: a"
    assert "negative" in summary(explain("bad", TABLE)) and "undecided" in summary(explain("the", TABLE))
    assert summary(explain("", TABLE)) == "no verdict: the text has no word"
    assert summary(explain("un heard", TABLE)).startswith("no verdict: 2 words, 0 known")
    assert "... and 3 more tokens" in summary(explain("good bad the film", TABLE), top=1)


def test_reading_the_table(results):
    assert read_table("imdb") == TABLE
    assert read_table("yelp")["good"] == (1.0, -2.0)


@pytest.mark.parametrize(
    "content, message",
    [
        ("", "no column 'token'"),
        ("token,q,alpha,delta,z\na,1,1,1,1\n", "no column 'gamma'"),
        ("token,q,alpha,delta,z,gamma\na,1,1,1,1,1\nb,1,1,1,x,1\n", "line 3: could not convert"),
        ("token,q,alpha,delta,z,gamma\na,1,1,1,1\n", "line 2"),
        ("token,q,alpha,delta,z,gamma\na,1,1,1,nan,1\n", "line 2: z and gamma must be finite"),
    ],
)
def test_a_bad_table_is_named(results, content, message):
    (results / "imdb_tokens.csv").write_text(content)
    with pytest.raises(ValueError, match=rf"imdb_tokens\.csv.*{message}"):
        read_table("imdb")


def test_a_missing_table_says_how_to_make_it(results, capsys):
    (results / "imdb_tokens.csv").unlink()
    assert command.main(["explain", "good"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and "imdb_tokens.csv" in err and "python -m attnlib replicate" in err


def test_the_command(results, capsys, tmp_path):
    assert command.main(["explain", "A good film"]) == 0
    assert "positive" in capsys.readouterr().out
    assert command.main(["explain", "--corpus", "yelp", "A good film"]) == 0
    assert "negative" in capsys.readouterr().out
    (tmp_path / "text").write_text("\ufeffbad", encoding="utf-8")
    assert command.main(["explain", "--file", str(tmp_path / "text"), "--top", "1"]) == 0
    assert "1 words, 1 known" in capsys.readouterr().out
    assert command.read_text(argparse.Namespace(text=None, file=str(tmp_path / "text"))) == "bad"
    assert command.main(["explain", ""]) == 0
    assert capsys.readouterr().out == "no verdict: the text has no word\n"


def test_standard_input(results, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"good film")))
    assert command.main(["explain"]) == 0
    assert "positive" in capsys.readouterr().out


@pytest.mark.parametrize(
    "data, message",
    [(b"good\0film", "zero byte"), (b"good \xff film", "byte 5 is 0xff"), (b"good" * 30, "longer than 100 bytes")],
)
def test_input_that_is_not_text(results, capsys, monkeypatch, tmp_path, data, message):
    monkeypatch.setattr(command, "LARGEST", 100)
    (tmp_path / "data").write_bytes(data)
    assert command.main(["explain", "--file", str(tmp_path / "data")]) == 2
    out, err = capsys.readouterr()
    assert out == "" and message in err and "Traceback" not in err


def test_other_bad_input(results, capsys, tmp_path):
    assert command.main(["explain", "--file", str(tmp_path / "none")]) == 2
    assert "none" in capsys.readouterr().err
    assert command.main(["explain", "--file", str(tmp_path)]) == 2
    assert command.main(["explain", "good", "--file", "x"]) == 2
    assert "not both" in capsys.readouterr().err
    for arguments in ([], ["explain", "--corpus", "news", "good"], ["unknown"]):
        with pytest.raises(SystemExit):
            command.main(arguments)


@pytest.mark.parametrize(
    "tty, environment, colour",
    [
        (True, {}, True),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
        (False, {}, False),
    ],
)
def test_colour_is_for_terminals_that_want_it(results, capsys, monkeypatch, tty, environment, colour):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: tty)
    command.main(["explain", "good film"])
    assert ("\x1b[" in capsys.readouterr().out) == colour


def test_from_the_shell(results):
    """Undecodable arguments, an ASCII terminal, and a reader that leaves early."""
    program = (
        "import sys, pathlib; from attnlib import explain, __main__; "
        f"explain.RESULTS = pathlib.Path({str(results)!r}); sys.exit(__main__.main())"
    )
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    run = [sys.executable, "-c", program, "explain"]
    done = subprocess.run([*run, b"good caf\xc3\xa9 \xff\x1b[31m"], capture_output=True, env=environment)
    assert done.returncode == 0 and b"good" in done.stdout and b"\x1b" not in done.stdout and done.stderr == b""
    with subprocess.Popen([*run, "good " * 50], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as early:
        early.stdout.close()
        assert early.stderr.read() == b"" and early.wait() == 0
    done = subprocess.run([sys.executable, "-m", "attnlib", "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "explain" in done.stdout


@given(st.binary(max_size=200))
@example(b"\xef\xbb\xbfgood")
@example(b"\xef\xbb")
@example(b"\xff\xfeg\x00o\x00")
@example(b"good \xed\xa0\x80")
@example(b"\x1b]0;x\x07\x1b[2J good")
@example("\u202e\u0641\u064a\u0644\u0645 good\u2066".encode())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_explained_or_refused(results, capsys, monkeypatch, data):
    path = results / "bytes"
    path.write_bytes(data)
    outcomes = []
    for arguments in (["--file", str(path)], []):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        code = command.main(["explain", *arguments])
        out, err = capsys.readouterr()
        outcomes.append((code, out))
        assert (code, bool(out), bool(err)) in ((0, True, False), (2, False, True))
        assert code == 0 or err.startswith("attnlib: ") and "is not text" in err
        assert not {unicodedata.category(x) for x in out + err if x != "\n"} & {"Cc", "Cf", "Cs", "Co", "Cn"}
    assert outcomes[0] == outcomes[1]
    readable = b"\0" not in data and data.decode("utf-8-sig", "ignore").encode() == data.removeprefix(b"\xef\xbb\xbf")
    assert outcomes[0][0] == (0 if readable else 2)


def test_markup_is_words_and_signs_and_nothing_runs():
    text = "<script>alert('good')</script> <img src=x onerror=bad()> &lt;film&gt; {{7*7}} $(bad) `film`"
    found = explain(text, TABLE)
    assert [word.token for word in found.words if word.token in TABLE] == ["good", "bad", "film", "bad", "film"]
    assert ESCAPES.sub("", coloured(found)).startswith(text)  # to a terminal, which does not care
    assert "<" not in summary(found) and "script" in summary(found)
