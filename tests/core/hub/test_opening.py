"""What opening a model from the hub gets, pins, and leaves where it is."""

import json
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from bertviewer.core.checkpoints.finding import find_checkpoint
from bertviewer.core.checkpoints.header import read_header
from bertviewer.core.hub.connection import Hub
from bertviewer.core.hub.opening import open_hub
from bertviewer.core.tokenization.files import TOKENIZER_FILES, has_tokenizer
from bertviewer.core.util.errors import Cancelled, UserError
from tests.core.hub.conftest import REPO, hub_source
from tests.core.hub.hub_server import Fault, HubServer


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def test_all_but_the_weights_comes_at_once_and_is_pinned(
    server: HubServer, hub: Hub, tiny_files: dict[str, bytes], tiny_bert_folder: Path
) -> None:
    commit = server.add(REPO, tiny_files)
    model = open_hub(hub_source(), hub=hub)
    assert model.source.name == f"hf://{REPO}@{commit}"
    assert model.source.path.name == commit
    assert names(model.source.path) == names(tiny_bert_folder) - {"model.safetensors"}
    assert model.missing_bytes() == len(tiny_files["model.safetensors"])
    # The header alone has come: its tensors, as the file itself would have them.
    [asked] = server.asked("model.safetensors")
    assert asked.headers["range"].startswith("bytes=0-")
    assert model.checkpoint is not None
    here = {tensor.name: tensor for tensor in read_header(tiny_bert_folder / "model.safetensors")}
    assert model.checkpoint.tensors.keys() == here.keys()
    for name, tensor in model.checkpoint.tensors.items():
        assert tensor.shape == here[name].shape
        assert tensor.offset == here[name].offset
        assert tensor.file == model.source.path / "model.safetensors"


def test_the_weights_come_when_they_are_fetched(
    server: HubServer, hub: Hub, tiny_files: dict[str, bytes]
) -> None:
    server.add(REPO, tiny_files)
    model = open_hub(hub_source(), hub=hub)
    labels: list[tuple[int, int, str]] = []
    model.fetch(lambda done, total, label: labels.append((done, total, label)))
    file = model.source.path / "model.safetensors"
    assert file.read_bytes() == tiny_files["model.safetensors"]
    assert model.missing_bytes() == 0
    done, total, label = labels[-1]
    size = len(tiny_files["model.safetensors"])
    assert (done, total) == (size // 1024, size // 1024)
    assert label.startswith("Downloading model.safetensors: 0.1 of 0.1 MB")
    asked = len(server.requests)
    model.fetch()
    assert len(server.requests) == asked


def test_only_the_allowed_files_are_asked_for(
    server: HubServer, hub: Hub, tiny_files: dict[str, bytes]
) -> None:
    server.add(REPO, tiny_files)
    open_hub(hub_source(), hub=hub).fetch()
    asked = {request.path.rpartition("/")[2] for request in server.asked("/resolve/")}
    assert asked == {"config.json", "tokenizer_config.json", "vocab.txt", "model.safetensors"}
    assert not list(hub.cache.rglob("*.py"))
    assert not list(hub.cache.rglob("*.bin"))


@pytest.mark.parametrize("name", TOKENIZER_FILES)
def test_whatever_a_tokenizer_is_read_from_comes_along(
    name: str, server: HubServer, hub: Hub, tiny_files: dict[str, bytes]
) -> None:
    server.add(REPO, {"config.json": tiny_files["config.json"], name: b"words"})
    source = open_hub(hub_source(), hub=hub).source
    assert (source.path / name).read_bytes() == b"words"
    assert has_tokenizer(source)


def test_the_cache_is_huggingface_hubs_own(
    server: HubServer, hub: Hub, tiny_files: dict[str, bytes]
) -> None:
    from huggingface_hub import scan_cache_dir, snapshot_download

    commit = server.add(REPO, tiny_files)
    model = open_hub(hub_source(), hub=hub)
    model.fetch()
    folder = snapshot_download(REPO, cache_dir=hub.cache, local_files_only=True)
    assert Path(folder) == model.source.path
    [repo] = scan_cache_dir(hub.cache).repos
    [revision] = repo.revisions
    assert (revision.commit_hash, set(revision.refs)) == (commit, {"main"})


def test_a_model_in_several_files(server: HubServer, hub: Hub, tmp_path: Path) -> None:
    folder = sharded(tmp_path)
    server.add_folder(REPO, folder)
    model = open_hub(hub_source(), hub=hub)
    found = find_checkpoint(folder)
    assert found is not None
    assert model.checkpoint is not None
    assert model.checkpoint.tensors.keys() == found.tensors.keys()
    assert len(model.checkpoint.files) == len(found.files) >= 3
    assert not list(model.source.path.glob("model-*"))
    model.fetch()
    assert find_checkpoint(model.source.path) == model.checkpoint


def test_an_index_that_names_what_is_not_there(server: HubServer, hub: Hub, tmp_path: Path) -> None:
    folder = sharded(tmp_path)
    gone = sorted(folder.glob("model-*"))[1]
    gone.unlink()
    server.add_folder(REPO, folder)
    with pytest.raises(UserError, match=f"names '{gone.name}', which the Hub does not have"):
        open_hub(hub_source(), hub=hub)


def sharded(tmp_path: Path) -> Path:
    from bertviewer.core.building.backend import torch, transformers

    config = transformers.BertConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=16,
    )  # fmt: skip
    folder = tmp_path / "sharded"
    with torch.random.fork_rng(devices=[]):
        transformers.BertModel(config).save_pretrained(folder, max_shard_size="8KB")
    return folder


def test_a_branch_moves_and_a_commit_does_not(
    server: HubServer, hub: Hub, tiny_files: dict[str, bytes]
) -> None:
    first = server.add(REPO, tiny_files)
    server.add(REPO, tiny_files | {"vocab.txt": b"[UNK]\nnew\n"}, branch="try/out")
    assert open_hub(hub_source(), hub=hub).source.name.endswith(first)
    second = server.add(REPO, tiny_files | {"vocab.txt": b"[UNK]\nold\n"})
    assert open_hub(hub_source(), hub=hub).source.name.endswith(second)
    model = open_hub(hub_source(f"hf://{REPO}@{first}"), hub=hub)
    assert (model.source.path / "vocab.txt").read_bytes() == tiny_files["vocab.txt"]
    model = open_hub(hub_source(f"hf://{REPO}@try/out"), hub=hub)
    assert (model.source.path / "vocab.txt").read_bytes() == b"[UNK]\nnew\n"


def test_what_is_pinned_and_complete_asks_nobody(
    server: HubServer, hub: Hub, tiny_files: dict[str, bytes]
) -> None:
    server.add(REPO, tiny_files)
    model = open_hub(hub_source(), hub=hub)
    model.fetch()
    asked = len(server.requests)
    again = open_hub(model.source, hub=hub)
    assert len(server.requests) == asked
    assert again.checkpoint == model.checkpoint
    assert again.missing_bytes() == 0


def test_a_part_of_a_tokenizer_is_not_complete(
    server: HubServer, hub: Hub, unreachable: Hub, tiny_files: dict[str, bytes]
) -> None:
    # As DeBERTa's, whose settings and weights another program has left here.
    files = {name: content for name, content in tiny_files.items() if name != "vocab.txt"}
    server.add(REPO, files | {"spm.model": b"pieces"})
    model = open_hub(hub_source(), hub=hub)
    model.fetch()
    (model.source.path / "spm.model").unlink()
    assert not has_tokenizer(open_hub(model.source, hub=unreachable).source)
    again = open_hub(model.source, hub=hub)
    assert (again.source.path / "spm.model").read_bytes() == b"pieces"
    asked = len(server.requests)
    open_hub(model.source, hub=hub)
    assert len(server.requests) == asked


def test_a_hub_that_answers_with_another_commit(
    server: HubServer, hub: Hub, tiny_files: dict[str, bytes]
) -> None:
    commit = server.add(REPO, tiny_files)
    answer = {"sha": "f" * 40, "siblings": []}
    server.fail("/api/", Fault(content=json.dumps(answer).encode()))
    with pytest.raises(UserError, match="answers with another commit"):
        open_hub(hub_source(f"hf://{REPO}@{commit}"), hub=hub)


@pytest.fixture
def unreachable(hub: Hub) -> Iterator[Hub]:
    """Return the same cache under an address where nobody listens, nor begins to meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        yield replace(hub, endpoint=f"http://127.0.0.1:{port}")


def test_without_a_network_the_cache_is_opened(
    server: HubServer, hub: Hub, unreachable: Hub, tiny_files: dict[str, bytes]
) -> None:
    commit = server.add(REPO, tiny_files)
    open_hub(hub_source(), hub=hub).fetch()
    model = open_hub(hub_source(), hub=unreachable)
    assert model.source.name == f"hf://{REPO}@{commit}"
    assert model.checkpoint is not None
    assert not model.why_no_weights


def test_without_a_network_and_weights_the_architecture_is_there(
    server: HubServer, hub: Hub, unreachable: Hub, tiny_files: dict[str, bytes]
) -> None:
    server.add(REPO, tiny_files)
    open_hub(hub_source(), hub=hub)
    model = open_hub(hub_source(), hub=unreachable)
    assert model.checkpoint is None
    assert "its weights are not in the local cache" in model.why_no_weights
    assert f"{unreachable.host} cannot be reached" in model.why_no_weights


def test_without_a_network_and_a_cache(unreachable: Hub) -> None:
    with pytest.raises(UserError) as error:
        open_hub(hub_source(), hub=unreachable)
    assert str(error.value) == f"hf://{REPO}@main: {unreachable.host} cannot be reached"


def test_a_long_header_comes_in_two_requests(
    server: HubServer, hub: Hub, tiny_files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bertviewer.core.hub.opening.FIRST_BYTES", 100)
    server.add(REPO, tiny_files)
    model = open_hub(hub_source(), hub=hub)
    assert model.checkpoint is not None
    assert len(model.checkpoint.tensors) == 39
    ranges = [request.headers["range"] for request in server.asked("model.safetensors")]
    assert ranges[0] == "bytes=0-99"
    assert ranges[1].startswith("bytes=100-")


def test_a_hub_that_knows_no_ranges(
    server: HubServer, hub: Hub, tiny_files: dict[str, bytes]
) -> None:
    server.add(REPO, tiny_files)
    server.fail("model.safetensors", Fault(ignores_range=True, pause=0.01))
    model = open_hub(hub_source(), hub=hub)
    assert model.checkpoint is not None
    assert len(model.checkpoint.tensors) == 39


def test_cancelled_while_the_hub_is_silent(server: HubServer, hub: Hub) -> None:
    server.add(REPO, {})
    server.fail("/api/", Fault(silent=True))

    def cancel(done: int, total: int, label: str) -> None:
        if server.requests:
            raise Cancelled

    with pytest.raises(Cancelled):
        open_hub(hub_source(), cancel, hub)
    assert not hub.cache.exists()


def test_a_broken_link_in_the_cache_is_mended(
    server: HubServer, hub: Hub, tiny_files: dict[str, bytes]
) -> None:
    server.add(REPO, tiny_files)
    model = open_hub(hub_source(), hub=hub)
    shutil.rmtree(model.source.path.parents[1] / "blobs")
    again = open_hub(hub_source(), hub=hub)
    assert (again.source.path / "vocab.txt").read_bytes() == tiny_files["vocab.txt"]
