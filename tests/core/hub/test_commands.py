"""``hf://`` on the command line; no other model uses the network."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bertviewer.app import ERROR, main
from tests.core.hub.conftest import FILE, REPO, TOKEN
from tests.core.hub.hub_server import HubServer

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def on_hub(
    server: HubServer, tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> HubServer:
    """Return the configured Hub, which requires the token."""
    server.add_folder(REPO, tiny_bert_folder)
    server.token = TOKEN
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return server


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Return a function that runs a command, and returns its status and output."""

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(arguments)
        captured = capsys.readouterr()
        assert TOKEN not in captured.out + captured.err
        return status, captured.out, captured.err

    return run


def test_a_summary_and_a_run_are_those_of_the_local_model(
    on_hub: HubServer, call: Call, tiny_bert_folder: Path
) -> None:
    summary, local = (
        json.loads(call("summary", name, "--format", "json")[1])
        for name in (f"hf://{REPO}", str(tiny_bert_folder))
    )
    assert summary["source"]["kind"] == "hub"
    assert summary["source"]["name"].startswith(f"hf://{REPO}@")
    assert summary["source"]["weights"] == "pretrained"
    for key in ("totals", "modules", "parameters", "config"):
        assert summary[key] == local[key]
    assert all("range" in request.headers for request in on_hub.asked(FILE))
    assert call("summary", f"hf://{REPO}")[1].startswith(f"Hub model hf://{REPO}@")
    run, local = (
        json.loads(call("run", name, "the cat sat", "--format", "json")[1])
        for name in (f"hf://{REPO}", str(tiny_bert_folder))
    )
    assert run["modules"] == local["modules"]
    requests = len(on_hub.requests)
    assert call("run", run["source"]["name"], "the cat sat")[0] == 0
    assert len(on_hub.requests) == requests


def test_refusals_are_one_line(on_hub: HubServer, call: Call) -> None:
    assert call("summary", "hf://someone/else") == (
        2,
        "",
        f"{ERROR}hf://someone/else@main: not found on {on_hub.url[7:]}\n",
    )
    status, _, error = call("summary", "hf://no/such/name")
    assert (status, error.count("\n")) == (2, 1)


def test_a_model_without_weights_runs_with_random_ones(
    on_hub: HubServer, call: Call, tiny_bert_folder: Path
) -> None:
    files = {file.name: file.read_bytes() for file in tiny_bert_folder.iterdir()}
    del files[FILE]
    on_hub.add(REPO, files | {"pytorch_model.bin": b""})
    status, _, error = call("run", f"hf://{REPO}", "the cat")
    assert status == 2
    assert error.endswith(
        "it has no model.safetensors on the Hub, and nothing else is downloaded\n"
    )
    assert call("run", f"hf://{REPO}", "the cat", "--random-weights")[0] == 0
    assert not on_hub.asked(".bin")


def test_without_a_tokenizer_no_weights_are_downloaded(
    on_hub: HubServer, call: Call, tiny_bert_folder: Path
) -> None:
    on_hub.add(REPO, {n: (tiny_bert_folder / n).read_bytes() for n in ("config.json", FILE)})
    status, _, error = call("run", f"hf://{REPO}", "the cat")
    assert status == 2
    assert error.endswith("the hub's cache has no tokenizer, so no sentence can be run\n")
    assert all("range" in request.headers for request in on_hub.asked(FILE))


def test_libraries_and_local_models_do_not_use_the_network(
    on_hub: HubServer, call: Call, tiny_bert_folder: Path
) -> None:
    from huggingface_hub import HfApi, constants
    from huggingface_hub.errors import OfflineModeIsEnabled

    assert call("run", str(tiny_bert_folder), "the cat sat")[0] == 0
    assert call("summary", "bert-base-uncased")[0] == 0
    assert on_hub.requests == []
    assert call("summary", f"hf://{REPO}")[0] == 0
    assert os.environ["HF_HUB_OFFLINE"] == "1"
    assert constants.HF_HUB_OFFLINE
    with pytest.raises(OfflineModeIsEnabled):
        HfApi(endpoint=on_hub.url).model_info(REPO)
