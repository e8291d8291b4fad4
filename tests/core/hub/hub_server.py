"""A Hub on loopback, which answers like the real one or fails on request."""

import hashlib
import json
import re
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from msgspec import Struct, field

LARGE = (".safetensors", ".bin", ".h5")
"""Suffixes of files that the Hub stores with Git LFS."""

CHUNK = 1 << 14
LONG = 300.0
"""Seconds that nothing is sent where nothing more is expected: longer than any test."""


class Fault(Struct, frozen=True):
    """A wrong answer.

    Attributes:
        status: answer with this status and these headers.
        headers: of that answer.
        cut: close the connection after so many bytes.
        held: send the rest after so many bytes when ``HubServer.goes_on`` is set.
        pause: seconds before each chunk.
        ignores_range: send the whole file.
        content: send this instead of the file.
        silent: never answer.
    """

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int | None = None
    held: int | None = None
    pause: float = 0.0
    ignores_range: bool = False
    content: bytes | None = None
    silent: bool = False


class Request(Struct, frozen=True):
    path: str
    headers: Mapping[str, str]


def digest_of(name: str, content: bytes) -> str:
    """Return the digest by which the Hub knows a file."""
    if name.endswith(LARGE):
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class HubServer:
    """Serves models from memory.

    Attributes:
        requests: all requests so far.
        faults: the wrong answers to come, by a part of the path.
        token: what requests must carry; ``None``: nothing.
        goes_on: see ``Fault.held``.
    """

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.faults: dict[str, list[Fault]] = {}
        self.token: str | None = None
        self.goes_on = threading.Event()
        self._files: dict[tuple[str, str], dict[str, bytes]] = {}
        self._branches: dict[tuple[str, str], str] = {}
        self._stopping = threading.Event()
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                hub._answer(self)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def add(self, repo: str, files: Mapping[str, bytes], branch: str = "main") -> str:
        """Commit files to a branch, and return the commit."""
        commit = hashlib.sha1(repr(sorted(files.items())).encode()).hexdigest()
        self._files[repo, commit] = dict(files)
        self._branches[repo, branch] = commit
        return commit

    def add_folder(self, repo: str, folder: Path) -> str:
        return self.add(repo, {file.name: file.read_bytes() for file in folder.iterdir()})

    def fail(self, part: str, *faults: Fault) -> None:
        """Answer the next requests whose path has ``part`` in these ways, one after the other."""
        self.faults[part] = list(faults)

    def asked(self, part: str) -> list[Request]:
        """Return the requests whose path has ``part``."""
        return [request for request in self.requests if part in request.path]

    def stop(self) -> None:
        self._stopping.set()
        self.goes_on.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        headers = {name.lower(): value for name, value in handler.headers.items()}
        self.requests.append(Request(handler.path, headers))
        fault = self._fault(handler.path)
        handler.close_connection = True
        try:
            if fault.silent:
                self._stopping.wait(LONG)
            elif fault.status:
                self._send(handler, fault.status, b"nothing", fault.headers, fault)
            elif self.token and headers.get("authorization") != f"Bearer {self.token}":
                self._send(handler, 401, b"", {"X-Error-Code": "RepoNotFound"}, fault)
            else:
                self._serve(handler, headers, fault)
        except OSError:
            pass  # the client closed the connection

    def _fault(self, path: str) -> Fault:
        for part, faults in self.faults.items():
            if part in path and faults:
                return faults.pop(0)
        return Fault()

    def _serve(
        self, handler: BaseHTTPRequestHandler, headers: Mapping[str, str], fault: Fault
    ) -> None:
        path = unquote(urlsplit(handler.path).path)
        if found := re.fullmatch(r"/api/models/(.+)/revision/(.+)", path):
            self._describe(handler, found[1], found[2], fault)
        elif found := re.fullmatch(r"/(.+)/resolve/([^/]+)/(.+)", path):
            files = self._files.get((found[1], found[2]), {})
            if found[3] in files:
                self._content(handler, files[found[3]], headers, fault)
            else:
                self._send(handler, 404, b"", {"X-Error-Code": "EntryNotFound"}, fault)
        else:
            self._send(handler, 404, b"", {}, fault)

    def _describe(
        self, handler: BaseHTTPRequestHandler, repo: str, revision: str, fault: Fault
    ) -> None:
        commit = self._branches.get((repo, revision), revision)
        files = self._files.get((repo, commit))
        if files is None:
            known = any(name == repo for name, _ in self._branches)
            code = "RevisionNotFound" if known else "RepoNotFound"
            self._send(handler, 404, b"", {"X-Error-Code": code}, fault)
            return
        siblings = []
        for name, content in files.items():
            entry: dict[str, Any] = {"rfilename": name, "size": len(content), "blobId": "0" * 40}
            if name.endswith(LARGE):
                entry["lfs"] = {"sha256": digest_of(name, content), "size": len(content)}
            else:
                entry["blobId"] = digest_of(name, content)
            siblings.append(entry)
        data = json.dumps({"id": repo, "sha": commit, "siblings": siblings}).encode()
        self._send(handler, 200, fault.content or data, {}, fault)

    def _content(
        self,
        handler: BaseHTTPRequestHandler,
        content: bytes,
        headers: Mapping[str, str],
        fault: Fault,
    ) -> None:
        content = content if fault.content is None else fault.content
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", headers.get("range", ""))
        if asked is None or fault.ignores_range:
            self._send(handler, 200, content, {}, fault)
            return
        start = int(asked[1])
        part = content[start : int(asked[2]) + 1 if asked[2] else None]
        place = f"bytes {start}-{start + len(part) - 1}/{len(content)}"
        self._send(handler, 206, part, {"Content-Range": place}, fault)

    def _send(
        self,
        handler: BaseHTTPRequestHandler,
        status: int,
        body: bytes,
        headers: Mapping[str, str],
        fault: Fault,
    ) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        for start in range(0, len(body), CHUNK):
            if fault.pause and self._stopping.wait(fault.pause):
                return
            chunk = body[start : start + CHUNK]
            if fault.held is not None and start + len(chunk) > fault.held:
                self.goes_on.wait(LONG)
            if fault.cut is not None and start + len(chunk) > fault.cut:
                handler.wfile.write(chunk[: max(0, fault.cut - start)])
                return
            handler.wfile.write(chunk)
