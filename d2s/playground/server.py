"""The server of the playground: who may talk to it, and what it answers.

It runs programs that it is sent, so all of these have to hold for a request:

* it comes through the loopback interface, on which alone the server listens;
* its path begins with the token, 32 random bytes that are made anew on each start;
* ``Host`` is the address of the server: a page of another name that resolves to this machine is refused;
* ``Origin``, which browsers send with every POST, is that of the page itself.

A page may load nothing from elsewhere and run no script but its own (Content-Security-Policy), and its address is sent
to nobody (Referrer-Policy).
"""

from __future__ import annotations

import hmac
import json
import secrets
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from d2s.drawing.theme import dark_style
from d2s.playground.running import run_request

DEFAULT_SECONDS = 10.0
MAX_REQUEST = 200_000

_FOLDER = Path(__file__).parent / "page"
_FILES = {
    "": ("page.html", "text/html; charset=utf-8"),
    "page.css": ("page.css", "text/css; charset=utf-8"),
    "page.js": ("page.js", "text/javascript; charset=utf-8"),
    "examples.js": ("examples.js", "text/javascript; charset=utf-8"),
}
# The colours of pictures and code on a dark page.
_DARK = "dark.css"
_HEADERS = {
    # Styles may stand in the page: pictures of Programs have theirs with them.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Playground(ThreadingHTTPServer):
    """
    The server, bound and ready for `serve_forever`.

    Parameters
    ----------
    port : int
        On 127.0.0.1; 0 takes one that is free.
    seconds : float
        How long a program may run.

    Attributes
    ----------
    token : str
        The secret in the address.
    address : str
        Of the page, with the token.
    """

    daemon_threads = True

    def __init__(self, port: int = 0, seconds: float = DEFAULT_SECONDS) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.seconds = seconds
        self.token = secrets.token_urlsafe(32)
        number = self.server_address[1]
        self.hosts = frozenset((f"127.0.0.1:{number}", f"localhost:{number}"))
        self.address = f"http://127.0.0.1:{number}/{self.token}/"


class _Handler(BaseHTTPRequestHandler):
    server: Playground
    server_version = "d2s"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        name = self._path_behind_token()
        if name is None:
            return
        if name == _DARK:
            return self._answer(HTTPStatus.OK, "text/css; charset=utf-8", dark_style().encode())
        if name not in _FILES:
            return self._refuse(HTTPStatus.NOT_FOUND)
        file, kind = _FILES[name]
        self._answer(HTTPStatus.OK, kind, (_FOLDER / file).read_bytes())

    def do_POST(self) -> None:
        name = self._path_behind_token()
        if name is None:
            return
        if name != "run":
            return self._refuse(HTTPStatus.NOT_FOUND)
        if self.headers.get("Origin", "").removeprefix("http://") not in self.server.hosts:
            return self._refuse(HTTPStatus.FORBIDDEN)
        if self.headers.get("Content-Type", "") != "application/json":
            return self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            return self._refuse(HTTPStatus.LENGTH_REQUIRED)
        if int(length) > MAX_REQUEST:
            return self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        try:
            request = json.loads(self.rfile.read(int(length)))
            program, inputs, target = (request[name] for name in ("program", "inputs", "target"))
        except (ValueError, LookupError, TypeError):
            return self._refuse(HTTPStatus.BAD_REQUEST)
        if not all(isinstance(text, str) for text in (program, inputs, target)):
            return self._refuse(HTTPStatus.BAD_REQUEST)
        answer = run_request(program, inputs, target, self.server.seconds)
        self._answer(HTTPStatus.OK, "application/json", json.dumps(answer).encode())

    def _path_behind_token(self) -> str | None:
        """The path without the token; None if the request has been refused."""
        if self.headers.get("Host", "") not in self.server.hosts:
            self._refuse(HTTPStatus.FORBIDDEN)
            return None
        origin = self.headers.get("Origin")
        if origin is not None and origin.removeprefix("http://") not in self.server.hosts:
            self._refuse(HTTPStatus.FORBIDDEN)
            return None
        token, _, name = self.path.removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            self._refuse(HTTPStatus.NOT_FOUND)
            return None
        return name

    def _refuse(self, status: HTTPStatus) -> None:
        self.close_connection = True
        self._answer(status, "text/plain; charset=utf-8", f"{status.value} {status.phrase}\n".encode())

    def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **_HEADERS}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the path of a request holds the token."""
