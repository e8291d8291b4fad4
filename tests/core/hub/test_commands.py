"""``hf://`` on the command line, and that nothing else ever reaches a network."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bertviewer.app import ERROR, main
from tests.core.hub.conftest import REPO, TOKEN
from tests.core.hub.hub_server import Fault, HubServer


@pytest.fixture
def on_hub(
    server: HubServer, tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> HubServer:
    """Return the hub that ``hf://`` leads to, where only the token opens anything."""
    server.add_folder(REPO, tiny_bert_folder)
    server.token = TOKEN
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return server


Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(arguments)
        captured = capsys.readouterr()
        assert TOKEN not in captured.out + captured.err
        return status, captured.out, captured.err

    return run


def test_a_summary_takes_no_weights(on_hub: HubServer, call: Call, tiny_bert_folder: Path) -> None:
    status, out, err = call("summary", f"hf://{REPO}", "--format", "json")
    assert (status, err) == (0, "")
    summary = json.loads(out)
    assert summary["source"]["kind"] == "hub"
    assert summary["source"]["name"].startswith(f"hf://{REPO}@")
    assert summary["source"]["weights"] == "pretrained"
    _, out, _ = call("summary", str(tiny_bert_folder), "--format", "json")
    local = json.loads(out)
    for key in ("totals", "modules", "parameters", "config"):
        assert summary[key] == local[key]
    assert all("range" in request.headers for request in on_hub.asked(".safetensors"))
    status, out, _ = call("summary", f"hf://{REPO}")
    assert status == 0
    assert out.startswith(f"Hub model hf://{REPO}@")


def test_a_run_takes_the_weights_and_gives_the_same(
    on_hub: HubServer, call: Call, tiny_bert_folder: Path
) -> None:
    status, out, err = call("run", f"hf://{REPO}", "the cat sat", "--format", "json")
    assert (status, err) == (0, "")
    _, local, _ = call("run", str(tiny_bert_folder), "the cat sat", "--format", "json")
    assert json.loads(out)["modules"] == json.loads(local)["modules"]
    asked = len(on_hub.requests)
    name = json.loads(out)["source"]["name"]
    assert call("run", name, "the cat sat")[0] == 0
    assert len(on_hub.requests) == asked


def test_refusals_are_one_line(on_hub: HubServer, call: Call) -> None:
    status, out, err = call("summary", "hf://someone/else")
    assert (status, out) == (2, "")
    assert err == (f"{ERROR}hf://someone/else@main: not found on {on_hub.url[7:]}\n")
    status, _, err = call("summary", "hf://no/such/name")
    assert status == 2
    assert err.count("\n") == 1
    on_hub.fail("/api/", Fault(429, {"Retry-After": "999"}))
    status, _, err = call("summary", f"hf://{REPO}")
    assert status == 2
    assert err.endswith("received too many requests from this address; try again in 999 seconds\n")


def test_a_model_without_weights_runs_on_random_ones_only(
    on_hub: HubServer, call: Call, tiny_bert_folder: Path
) -> None:
    files = {file.name: file.read_bytes() for file in tiny_bert_folder.iterdir()}
    del files["model.safetensors"]
    commit = on_hub.add(REPO, files | {"pytorch_model.bin": b""})
    status, _, err = call("run", f"hf://{REPO}", "the cat")
    assert status == 2
    assert err == (
        f"{ERROR}hf://{REPO}@{commit}: it has no model.safetensors on the Hub, and "
        "nothing else is downloaded\n"
    )
    assert call("run", f"hf://{REPO}", "the cat", "--random-weights")[0] == 0
    assert not on_hub.asked(".bin")


def test_the_libraries_stay_offline(on_hub: HubServer, call: Call) -> None:
    from huggingface_hub import HfApi, constants
    from huggingface_hub.errors import OfflineModeIsEnabled

    assert call("summary", f"hf://{REPO}")[0] == 0
    assert os.environ["HF_HUB_OFFLINE"] == "1"
    assert constants.HF_HUB_OFFLINE
    with pytest.raises(OfflineModeIsEnabled):
        HfApi(endpoint=on_hub.url).model_info(REPO)


def test_local_models_ask_nobody(on_hub: HubServer, call: Call, tiny_bert_folder: Path) -> None:
    assert call("run", str(tiny_bert_folder), "the cat sat")[0] == 0
    assert call("summary", "bert-base-uncased")[0] == 0
    assert on_hub.requests == []


def test_without_a_tokenizer_no_weights_are_downloaded(
    on_hub: HubServer, call: Call, tiny_bert_folder: Path
) -> None:
    names = ("config.json", "model.safetensors")
    on_hub.add(REPO, {name: (tiny_bert_folder / name).read_bytes() for name in names})
    status, _, err = call("run", f"hf://{REPO}", "the cat")
    assert status == 2
    assert err.endswith("the hub's cache has no tokenizer, so no sentence can be run\n")
    assert all("range" in request.headers for request in on_hub.asked(".safetensors"))
