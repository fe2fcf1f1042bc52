"""The suite itself: no test without an assertion, and none that can reach the network."""

import ast
import socket
import urllib.request
from pathlib import Path

import pytest
from conftest import Network, loopback

HERE = Path(__file__).parent
ASSERTING = {"raises", "warns", "fail", "assert_allclose", "assert_array_equal", "approx"}


ANNOUNCE = {  # they test nothing: the summary tells by them what was left out
    "test_says_which_notebooks_were_not_run",
    "test_says_what_was_left_out",
}


def asserts(function, helpers, seen=()):
    """Whether a function asserts something, itself or by a helper that it calls."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", None))
            if name in ASSERTING - {"approx"}:
                return True
            if name in helpers and name not in seen and asserts(helpers[name], helpers, (*seen, name)):
                return True
    return False


def functions(path):
    return {node.name: node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("path", sorted(HERE.glob("test_*.py")), ids=lambda path: path.stem)
def test_every_test_asserts_something(path):
    here = functions(path)
    tests = {name: function for name, function in here.items() if name.startswith("test_")}
    assert tests
    assert [name for name, function in tests.items() if not asserts(function, here) and name not in ANNOUNCE] == []


def test_an_assertion_is_recognised():
    def verdict(source):
        made = {node.name: node for node in ast.parse(source).body}
        return asserts(made["test_x"], made)

    assert verdict("def test_x():\n    assert 1")
    assert verdict("def test_x():\n    helper()\ndef helper():\n    assert 1")
    assert not verdict("def test_x():\n    helper()\ndef helper():\n    return test_x()")
    assert not verdict("def test_x():\n    x = approx(1)")


@pytest.mark.parametrize("address", [("93.184.216.34", 80), ("10.0.0.1", 9), ("0.0.0.1", 1)])
def test_the_network_is_out_of_reach(address):
    with socket.socket() as sock, pytest.raises(Network, match="without a network"):
        sock.settimeout(0.1)
        sock.connect(address)
    assert not loopback(address)


def test_names_are_not_looked_up():
    with pytest.raises(Network, match="looks up 'example.org'"):
        urllib.request.urlopen("http://example.org", timeout=0.1)


def test_this_machine_is_within_reach():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        client.sendall(b"x")
        there, _ = server.accept()
        with there:
            assert there.recv(1) == b"x"
