"""A hub on loopback, a cache of the test's own, and a model to get from one into the other."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bertviewer.core.hub import requests
from bertviewer.core.hub.connection import Hub
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.tasks import find_task
from tests.core.hub.hub_server import HubServer

REPO = "someone/tiny-bert"
TOKEN = "hf_" + "s3cr3t" * 6


@pytest.fixture
def server() -> Iterator[HubServer]:
    server = HubServer()
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def _short_pauses_and_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "PAUSES", (0.01, 0.01, 0.02, 0.02))
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "127.0.0.1")


@pytest.fixture
def hub(server: HubServer, tmp_path: Path) -> Hub:
    return Hub(server.url, tmp_path / "cache", patience=60.0, headers={"user-agent": "bertviewer"})


@pytest.fixture
def private_hub(hub: Hub) -> Hub:
    headers = {"user-agent": "bertviewer", "authorization": f"Bearer {TOKEN}"}
    return Hub(hub.endpoint, hub.cache, hub.patience, headers)


def hub_source(name: str = f"hf://{REPO}") -> ModelSource:
    return ModelSource("hub", name, Path(), find_task("base"))


@pytest.fixture
def tiny_files(tiny_bert_folder: Path) -> dict[str, bytes]:
    """Return the tiny model's files, and some beside them that must stay where they are."""
    files = {file.name: file.read_bytes() for file in tiny_bert_folder.iterdir()}
    files |= {
        "pytorch_model.bin": b"a pickle",
        "modeling_tiny.py": b"raise SystemExit",
        "README.md": b"# Tiny",
        "onnx/model.safetensors": b"elsewhere",
    }
    return files
