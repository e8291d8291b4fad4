"""A Hub on loopback with a cache, and one helper process for all tests."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bertviewer.core.hub import opening
from bertviewer.core.hub.connection import Hub, TransferLimits
from bertviewer.core.hub.transfers import TransferProcess, transfer_process
from bertviewer.core.sources.model_source import ModelSource, find_task
from tests.core.hub.hub_server import HubServer

REPO = "someone/tiny-bert"
TOKEN = "hf_" + "s3cr3t" * 6
FILE = "model.safetensors"
CONTENT = bytes(range(256)) * 1024
"""Of a file for downloads: 256 KiB, which the server sends in 16 chunks."""


def hub_source(name: str = f"hf://{REPO}") -> ModelSource:
    return ModelSource("hub", name, Path(), find_task("base"))


@pytest.fixture
def server() -> Iterator[HubServer]:
    server = HubServer()
    yield server
    server.stop()


class Processes:
    """Lends one process to all tests; one with an unfinished request is replaced."""

    def __init__(self) -> None:
        self._shared: TransferProcess | None = TransferProcess(Hub("", Path()))

    @contextmanager
    def lend(self, hub: Hub) -> Iterator[TransferProcess]:
        process = self._shared
        if process is None or not process.is_idle:
            with transfer_process(hub) as another:
                yield another
            return
        process.hub, self._shared = hub, None
        try:
            yield process
        finally:
            self._shared = process

    def close(self) -> None:
        if self._shared is not None:
            self._shared.close()


@pytest.fixture(scope="session")
def processes() -> Iterator[Processes]:
    # The process inherits the environment when it starts.
    before = dict(os.environ)
    os.environ |= {"no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}
    processes = Processes()
    yield processes
    processes.close()
    os.environ.clear()
    os.environ |= before


@pytest.fixture(autouse=True)
def _shared_process(monkeypatch: pytest.MonkeyPatch, processes: Processes) -> None:
    monkeypatch.setattr(opening, "transfer_process", processes.lend)


@pytest.fixture
def hub(server: HubServer, tmp_path: Path) -> Hub:
    limits = TransferLimits(silence=60.0, first_pause=0.01)
    return Hub(server.url, tmp_path / "cache", {"user-agent": "bertviewer"}, limits)


@pytest.fixture
def process(hub: Hub, processes: Processes) -> Iterator[TransferProcess]:
    with processes.lend(hub) as process:
        yield process


@pytest.fixture
def tiny_files(tiny_bert_folder: Path) -> dict[str, bytes]:
    """Return the tiny BERT's files, and others that must not be downloaded."""
    files = {file.name: file.read_bytes() for file in tiny_bert_folder.iterdir()}
    files |= {
        "pytorch_model.bin": b"a pickle",
        "modeling_tiny.py": b"raise SystemExit",
        "README.md": b"# Tiny",
        "onnx/model.safetensors": b"elsewhere",
    }
    return files
