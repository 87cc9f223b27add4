"""The live page on this machine alone: one address with a token in it, and nothing else.

A page of another site can make a browser send requests here. It cannot know the token, the Host
that it names is not ours, and what is answered can be read by no other origin.
"""

import hmac
import json
import secrets
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from airfeel.reports.live import Watched

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_HOME = "127.0.0.1"


@dataclass
class Server:
    """Serves some runs until it is closed; `address` is the one that works."""

    watched: Watched
    port: int = 0  # 0: any that is free
    token: str = field(default_factory=lambda: secrets.token_urlsafe(16))

    def __post_init__(self) -> None:
        self._http = ThreadingHTTPServer((_HOME, self.port), _handler(self))
        self._http.daemon_threads = True
        self.port = self._http.server_address[1]

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{_HOME}:{self.port}/{self.token}/"

    def serve(self) -> None:
        """Answer until `close` is called from elsewhere, or an exception comes."""
        self._http.serve_forever(poll_interval=0.2)

    def close(self) -> None:
        """Stop, and give the port back."""
        self._http.shutdown()
        self._http.server_close()

    def hosts(self) -> set[str]:
        """What a browser may name as the host."""
        return {f"{name}:{self.port}" for name in (_HOME, "localhost")}

    def answer(self, path: str) -> tuple[int, str, bytes]:
        """Status, type and content for a path behind the token."""
        url = urlsplit(path)
        if url.path == "":
            return (
                200,
                "text/html; charset=utf-8",
                self.watched.whole_page().encode(errors="replace"),
            )
        if url.path == "state":
            number, shown = self.watched.state()
            since = parse_qs(url.query).get("since", [""])[0]
            if since == str(number) or not shown:
                return 204, "application/json", b""
            text = json.dumps({"number": number, **shown}, allow_nan=False)
            return 200, "application/json", text.encode(errors="replace")
        return 404, "text/plain", b"not found\n"


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """GET alone, of our own host, with the token."""

        timeout = 10.0  # seconds for a request to come in
        server_version, sys_version = "airfeel", ""

        def do_GET(self) -> None:
            self._send(*self._checked())

        def _checked(self) -> tuple[int, str, bytes]:
            if self.headers.get_all("Host", []) not in [[name] for name in server.hosts()]:
                return 403, "text/plain", b"not this host\n"
            origin = self.headers.get("Origin")
            if origin is not None and origin.removeprefix("http://") not in server.hosts():
                return 403, "text/plain", b"not from this page\n"
            _, token, *rest = [*self.path.split("/", 2), ""]
            if not hmac.compare_digest(token.encode(errors="replace"), server.token.encode()):
                return 404, "text/plain", b"not found\n"
            return server.answer(rest[0])

        def _send(self, status: int, kind: str, content: bytes) -> None:
            self.send_response(status)
            for name, value in (_HEADERS | {"Content-Type": kind}).items():
                self.send_header(name, value)
            if status != 204:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: the token would stand in it."""

    return Handler
