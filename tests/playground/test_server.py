"""Who may talk to the playground, and what everyone else is told."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from d2s.playground.server import MAX_REQUEST, Playground

REQUEST = json.dumps({"program": "def f(x):\n    return 2 * x\n", "inputs": "x = [1.0]", "target": ""})


@pytest.fixture(scope="module")
def playground() -> Iterator[Playground]:
    with Playground(seconds=60) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(
    server: Playground, method: str, path: str, body: str | None = None, **headers: str | None
) -> http.client.HTTPResponse:
    """One request, with the headers a browser on the page sends unless they are given otherwise (None: left out)."""
    host, port = server.server_address[:2]
    given: dict[str, str | None] = {"Host": f"127.0.0.1:{port}"}
    if body is not None:
        given |= {
            "Origin": f"http://127.0.0.1:{port}", "Content-Type": "application/json", "Content-Length": str(len(body)),
        }
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection = http.client.HTTPConnection(str(host), port, timeout=60)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in given.items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders(body.encode() if body is not None else None)
    response = connection.getresponse()
    response.text = response.read().decode()  # type: ignore[attr-defined]
    connection.close()
    return response


def run(server: Playground, **headers: str | None) -> Any:
    return ask(server, "POST", f"/{server.token}/run", REQUEST, **headers)


def test_it_listens_on_the_loopback_interface_only(playground: Playground) -> None:
    assert playground.server_address[0] == "127.0.0.1"
    assert playground.socket.family == socket.AF_INET


def test_the_token_is_long_and_new_each_time(playground: Playground) -> None:
    assert len(playground.token) >= 43
    with Playground() as other:
        assert other.token != playground.token
        assert other.token in other.address


@pytest.mark.parametrize("name", ["", "page.css", "dark.css", "page.js", "examples.js"])
def test_files_of_the_page(playground: Playground, name: str) -> None:
    response = ask(playground, "GET", f"/{playground.token}/{name}")
    assert response.status == 200
    assert len(response.text) > 500


def test_the_page_asks_for_nothing_from_elsewhere(playground: Playground) -> None:
    for name in ("", "page.css", "dark.css", "page.js", "examples.js"):
        text = ask(playground, "GET", f"/{playground.token}/{name}").text
        assert re.findall(r"https?://|//\w+\.\w+|@import|url\(", text) == []
    policy = ask(playground, "GET", f"/{playground.token}/").headers["Content-Security-Policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["connect-src"] == "'self'"
    assert rules["frame-ancestors"] == rules["base-uri"] == rules["form-action"] == "'none'"


@pytest.mark.parametrize("path", ["/", "", "/run", "/page.js", "/TOKEN", "/{token}x/", "/{token}/../x"])
def test_without_the_token_there_is_nothing(playground: Playground, path: str) -> None:
    response = ask(playground, "GET", path.format(token=playground.token) or "/x")
    assert response.status == 404
    assert playground.token not in response.text


@pytest.mark.parametrize(
    "path", ["/{token}/../server.py", "/{token}/page/page.html", "/{token}/%2e%2e/server.py", "/{token}/page.html"])
def test_no_other_file_is_given(playground: Playground, path: str) -> None:
    assert ask(playground, "GET", path.format(token=playground.token)).status == 404


@pytest.mark.parametrize("host", [None, "evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1.evil:{port}"])
def test_foreign_hosts_are_refused(playground: Playground, host: str | None) -> None:
    shown = host and host.format(port=playground.server_address[1])
    assert ask(playground, "GET", f"/{playground.token}/", Host=shown).status == 403
    assert run(playground, Host=shown).status == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "", "https://127.0.0.1:{port}", "http://127.0.0.1", "http://localhost"])
def test_foreign_origins_are_refused(playground: Playground, origin: str) -> None:
    shown = origin.format(port=playground.server_address[1])
    assert run(playground, Origin=shown).status == 403
    assert ask(playground, "GET", f"/{playground.token}/", Origin=shown).status == 403


def test_a_post_without_origin_is_refused(playground: Playground) -> None:
    assert run(playground, Origin=None).status == 403


def test_a_program_without_the_token_does_not_run(playground: Playground) -> None:
    assert ask(playground, "POST", "/wrong/run", REQUEST).status == 404


def test_the_page_may_be_reached_as_localhost(playground: Playground) -> None:
    name = f"localhost:{playground.server_address[1]}"
    assert ask(playground, "GET", f"/{playground.token}/", Host=name).status == 200


def test_a_request_of_the_page_is_answered(playground: Playground) -> None:
    response = run(playground)
    assert response.status == 200
    assert response.headers["Content-Type"] == "application/json"
    assert json.loads(response.text)["eager"]["gradients"] == [["x.grad", "float32[1] [2.]"]]


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (REQUEST, {"Content_Type": "text/plain"}, 415),
        (REQUEST, {"Content_Type": "application/x-www-form-urlencoded"}, 415),
        (REQUEST, {"Content_Length": None}, 411),
        (REQUEST, {"Content_Length": "-1"}, 411),
        (REQUEST, {"Content_Length": str(MAX_REQUEST + 1)}, 413),
        ("{", {}, 400),
        ("[]", {}, 400),
        ('{"program": "", "inputs": ""}', {}, 400),
        ('{"program": 1, "inputs": "", "target": ""}', {}, 400),
    ],
)
def test_other_requests_are_refused(
    playground: Playground, body: str, headers: dict[str, str | None], status: int
) -> None:
    assert ask(playground, "POST", f"/{playground.token}/run", body, **headers).status == status


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "DELETE"])
def test_other_methods_are_not_there(playground: Playground, method: str) -> None:
    response = ask(playground, method, f"/{playground.token}/run")
    assert response.status == 501
    assert "Access-Control-Allow-Origin" not in response.headers


def test_nothing_is_written_about_requests(playground: Playground, capfd: pytest.CaptureFixture[str]) -> None:
    ask(playground, "GET", f"/{playground.token}/")
    run(playground, Origin=None)
    assert capfd.readouterr() == ("", "")
