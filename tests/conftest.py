"""Hypothesis profiles: `ci` by default, `nightly` by HYPOTHESIS_PROFILE=nightly. No test may use the network. A browser."""

import ipaddress
import os
import shutil
import socket
import sys

import pytest
from explorables import presets, site, visit  # noqa: F401 (fixtures; test_book.py has a visit of its own)
from hypothesis import settings
from playwright.sync_api import sync_playwright

settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True, database=None)
settings.register_profile("nightly", max_examples=2000, deadline=None, print_blob=True, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


class Network(BaseException):
    """A test asked for the network. Not an Exception, so that nothing that is tested can shrug it off."""


def loopback(address) -> bool:
    """Whether a socket address is of this machine: a path, localhost, 127.0.0.0/8 or ::1."""
    if not isinstance(address, tuple) or address[0] in ("localhost", ""):
        return True
    try:
        return ipaddress.ip_address(address[0]).is_loopback
    except ValueError:
        return False  # a name, which would have to be looked up


def watch(event, arguments):
    """An audit hook: Python raises these events for every connection and look-up, whoever asks for it."""
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        sock, address = arguments
        if address is not None and getattr(sock, "family", None) != socket.AF_UNIX and not loopback(address):
            raise Network(f"a test connects to {address}: the suite must run without a network")
    elif event == "socket.getaddrinfo" and not loopback(arguments[:2]):
        host = arguments[0]
        if host is not None and not str(host).endswith(".invalid") and host != socket.gethostname():
            raise Network(f"a test looks up {host!r}: the suite must run without a network")


@pytest.fixture(scope="session", autouse=True)
def no_network():
    sys.addaudithook(watch)  # for as long as this process lives: hooks cannot be removed


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-sync"


@pytest.fixture(scope="module")
def browser():
    """One for each file of tests: playwright's event loop must not outlive it, for others start their own."""
    if CHROMIUM is None:
        pytest.skip("LEFT OUT: no Chromium found, so nothing was tried in a browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        yield browser
        browser.close()


@pytest.fixture
def open_tab(browser):
    """Tabs with the network off that note what they complain of, and what they ask for from outside."""
    contexts = []

    def open_tab(width, height, **options):
        contexts.append(browser.new_context(viewport={"width": width, "height": height}, offline=True, **options))
        tab = contexts[-1].new_page()
        tab.complaints, tab.outside = [], []
        tab.on("console", lambda m: tab.complaints.append(m.text) if m.type in ("error", "warning") else None)
        tab.on("pageerror", lambda e: tab.complaints.append(str(e)))
        tab.on("requestfailed", lambda r: tab.complaints.append(f"failed: {r.url}"))
        here = ("file:", "data:", "blob:")
        tab.on("request", lambda r: None if r.url.startswith(here) else tab.outside.append(r.url))
        return tab

    yield open_tab
    for context in contexts:
        context.close()


def pytest_terminal_summary(terminalreporter):
    """Property tests by public name, the time each chapter took, and which claim noticed which planted error."""
    told = [(report.nodeid, *told) for report in terminalreporter.getreports("") for told in report.user_properties]
    for counts in (counts for _, name, counts in told if name == "property tests"):
        terminalreporter.section("property tests of each public name")
        for name, count in counts.items():
            terminalreporter.line(f"{count:8}  {name}")
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
