"""Opening a Hub model: what is downloaded, when the Hub is asked, and work without a network."""

import json
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.building.backend import transformers
from bertviewer.core.checkpoints.finding import find_checkpoint
from bertviewer.core.checkpoints.header import read_header
from bertviewer.core.hub.cache import repository
from bertviewer.core.hub.connection import Hub
from bertviewer.core.hub.opening import HubModel, open_hub
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.tokenization.files import TOKENIZER_FILES, has_tokenizer
from bertviewer.core.util.errors import Cancelled, UserError
from bertviewer.core.util.progress import Progress, no_progress
from tests.core.hub.conftest import FILE, REPO, hub_source
from tests.core.hub.hub_server import Fault, HubServer
from tests.core.loading.tiny_models import save_model, tensors_of, write_tensors


class Tiny(Struct):
    """A Hub with the tiny BERT, and files that must not be downloaded."""

    server: HubServer
    hub: Hub
    files: dict[str, bytes]

    def open(
        self,
        name: str = f"hf://{REPO}",
        hub: Hub | None = None,
        progress: Progress = no_progress,
    ) -> HubModel:
        return open_hub(hub_source(name), progress, hub or self.hub)


@pytest.fixture
def tiny(server: HubServer, hub: Hub, tiny_files: dict[str, bytes]) -> Tiny:
    return Tiny(server, hub, tiny_files)


@pytest.fixture
def unreachable(hub: Hub) -> Iterator[Hub]:
    """Return the same cache with an address that has no server."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        yield replace(hub, endpoint=f"http://127.0.0.1:{port}")


class TestDownloads:
    def test_everything_but_the_weights_is_downloaded_at_once(
        self, tiny: Tiny, tiny_bert_folder: Path
    ) -> None:
        commit = tiny.server.add(REPO, tiny.files)
        model = tiny.open()
        assert model.source.name == f"hf://{REPO}@{commit}"
        assert model.source.path.name == commit
        names = {file.name for file in model.source.path.iterdir()}
        assert names == {"config.json", "tokenizer_config.json", "vocab.txt"}
        assert model.missing_bytes() == len(tiny.files[FILE])
        # Of the weights, only the header.
        [request] = tiny.server.asked(FILE)
        assert request.headers["range"].startswith("bytes=0-")
        assert model.checkpoint is not None
        path = model.source.path / FILE
        assert model.checkpoint.tensors == {
            tensor.name: replace(tensor, file=path)
            for tensor in read_header(tiny_bert_folder / FILE)
        }

    def test_the_weights_are_downloaded_on_request(self, tiny: Tiny) -> None:
        tiny.server.add(REPO, tiny.files)
        model = tiny.open()
        steps: list[tuple[int, int, str]] = []
        for _ in range(2):
            model.fetch(lambda done, total, label: steps.append((done, total, label)))
            assert (model.source.path / FILE).read_bytes() == tiny.files[FILE]
            assert model.missing_bytes() == 0
            assert len(tiny.server.asked(FILE)) == 2  # the header, and the file
        done, total, label = steps[-1]
        assert done == total == len(tiny.files[FILE]) // 1024
        assert label.startswith("Downloading model.safetensors: 0.1 of 0.1 MB")
        # Neither code nor pickles.
        requested = {request.path.rpartition("/")[2] for request in tiny.server.asked("/resolve/")}
        assert requested == {"config.json", "tokenizer_config.json", "vocab.txt", FILE}

    def test_all_files_of_a_tokenizer_are_downloaded(self, tiny: Tiny) -> None:
        for name in TOKENIZER_FILES:
            tiny.server.add(REPO, {"config.json": tiny.files["config.json"], name: b"words"})
            source = tiny.open().source
            assert (source.path / name).read_bytes() == b"words"
            assert has_tokenizer(source)

    def test_huggingface_hub_shares_the_cache(self, tiny: Tiny) -> None:
        from huggingface_hub import (
            _CACHED_NO_EXIST,
            scan_cache_dir,
            snapshot_download,
            try_to_load_from_cache,
        )

        commit = tiny.server.add(REPO, tiny.files)
        model = tiny.open()
        model.fetch()
        folder = snapshot_download(REPO, cache_dir=tiny.hub.cache, local_files_only=True)
        assert Path(folder) == model.source.path
        [repo] = scan_cache_dir(tiny.hub.cache).repos
        [revision] = repo.revisions
        assert (revision.commit_hash, set(revision.refs)) == (commit, {"main"})
        assert try_to_load_from_cache(REPO, "spm.model", tiny.hub.cache, commit) is _CACHED_NO_EXIST

    def test_shards(self, tiny: Tiny, tmp_path: Path) -> None:
        folder = tmp_path / "sharded"
        config = transformers.BertConfig(
            vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
            intermediate_size=32, max_position_embeddings=16,
        )  # fmt: skip
        transformers.BertModel(config).save_pretrained(folder, max_shard_size="8KB")
        tiny.server.add_folder(REPO, folder)
        model = tiny.open()
        expected = find_checkpoint(folder)
        assert expected is not None
        assert model.checkpoint is not None
        assert model.checkpoint.tensors.keys() == expected.tensors.keys()
        assert len(model.checkpoint.files) == len(expected.files) >= 3
        assert not list(model.source.path.glob("model-*"))
        model.fetch()
        assert find_checkpoint(model.source.path) == model.checkpoint
        missing = sorted(folder.glob("model-*"))[1]
        missing.unlink()
        tiny.server.add_folder(REPO, folder)
        with pytest.raises(UserError, match=f"names '{missing.name}', which the Hub does not have"):
            tiny.open()

    def test_a_long_header_is_read_in_two_requests(
        self, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("bertviewer.core.hub.opening.FIRST_BYTES", 100)
        tiny.server.add(REPO, tiny.files)
        model = tiny.open()
        assert model.checkpoint is not None
        assert len(model.checkpoint.tensors) == 39
        first, second = (request.headers["range"] for request in tiny.server.asked(FILE))
        assert first == "bytes=0-99"
        assert second.startswith("bytes=100-")

    def test_a_server_without_range_requests(self, tiny: Tiny) -> None:
        tiny.server.add(REPO, tiny.files)
        tiny.server.fail(FILE, Fault(ignores_range=True, pause=0.01))
        model = tiny.open()
        assert model.checkpoint is not None
        assert len(model.checkpoint.tensors) == 39

    def test_cancelling_while_the_hub_is_silent(self, tiny: Tiny) -> None:
        tiny.server.add(REPO, {})
        tiny.server.fail("/api/", Fault(silent=True))

        def cancel(done: int, total: int, label: str) -> None:
            if tiny.server.requests:
                raise Cancelled

        with pytest.raises(Cancelled):
            tiny.open(progress=cancel)
        assert not tiny.hub.cache.exists()

    @pytest.mark.parametrize("is_tied", [True, False])
    def test_weights_are_tied_by_their_values_once_they_are_downloaded(
        self, tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_tied: bool
    ) -> None:
        saved = save_model(tmp_path / "saved", "BertForMaskedLM")
        tensors = tensors_of(saved)
        del tensors["cls.predictions.decoder.bias"]
        if not is_tied:
            tensors["cls.predictions.decoder.weight"] += 1
        write_tensors(tmp_path / "saved", tensors)
        tiny.server.add_folder(REPO, tmp_path / "saved")
        monkeypatch.setattr("bertviewer.core.hub.opening.connect", lambda: tiny.hub)
        model = open_model(parse_source(f"hf://{REPO}"))
        assert model.source.task.name == "masked-lm"
        assert model.architecture.source.weights == "pretrained"
        module = model.module(random_weights=False)
        parameters = sum(p.numel() for p in module.parameters())
        assert model.architecture.root.parameters == parameters
        more = 0 if is_tied else tensors["cls.predictions.decoder.weight"].numel()
        assert parameters == sum(p.numel() for p in saved.parameters()) + more
        assert model.was_corrected == is_tied  # they are assumed to differ


class TestRefusals:
    def test_a_model_without_safetensors_has_no_weights(self, tiny: Tiny) -> None:
        del tiny.files[FILE]
        commit = tiny.server.add(REPO, tiny.files)
        model = tiny.open()
        assert model.checkpoint is None
        assert model.missing_bytes() == 0
        assert model.why_no_weights == (
            f"hf://{REPO}@{commit}: it has no model.safetensors on the Hub, and nothing else is "
            "downloaded"
        )

    def test_other_repositories_and_answers_are_refused(self, tiny: Tiny) -> None:
        commit = tiny.server.add(REPO, {"README.md": b"#"})
        with pytest.raises(UserError, match=f"hf://{REPO}@{commit}: there is no config.json"):
            tiny.open()
        answer = {"sha": "f" * 40, "siblings": []}
        tiny.server.fail("/api/", Fault(content=json.dumps(answer).encode()))
        with pytest.raises(UserError, match="answers with another commit"):
            tiny.open(f"hf://{REPO}@{commit}")
        assert not tiny.hub.cache.exists()
        tiny.server.add(REPO, tiny.files | {FILE: b"version https://git-lfs.github.com/x\n"})
        with pytest.raises(UserError, match="Git LFS pointer"):
            tiny.open()


class TestCache:
    def test_a_branch_moves_and_a_commit_does_not(self, tiny: Tiny) -> None:
        first = tiny.server.add(REPO, tiny.files)
        tiny.server.add(REPO, tiny.files | {"vocab.txt": b"[UNK]\nnew\n"}, branch="try/out")
        assert tiny.open().source.name.endswith(first)
        second = tiny.server.add(REPO, tiny.files | {"vocab.txt": b"[UNK]\nold\n"})
        assert tiny.open().source.name.endswith(second)
        for revision, vocabulary in (
            (first, tiny.files["vocab.txt"]),
            ("try/out", b"[UNK]\nnew\n"),
        ):
            model = tiny.open(f"hf://{REPO}@{revision}")
            assert (model.source.path / "vocab.txt").read_bytes() == vocabulary

    def test_a_complete_commit_is_opened_without_the_hub(self, tiny: Tiny) -> None:
        tiny.server.add(REPO, tiny.files)
        model = tiny.open()
        model.fetch()
        requests = len(tiny.server.requests)
        cached = tiny.open(model.source.name)
        assert len(tiny.server.requests) == requests
        assert cached.checkpoint == model.checkpoint
        assert cached.missing_bytes() == 0

    @pytest.mark.parametrize(
        ("tokenizer", "is_complete"),
        [
            (["tokenizer.json", "tokenizer_config.json"], True),
            (["tokenizer.json"], False),
            (["tokenizer_config.json", "vocab.txt"], False),
        ],
    )
    def test_the_download_of_another_program_may_be_incomplete(
        self, tokenizer: list[str], is_complete: bool, tiny: Tiny
    ) -> None:
        files = tiny.files | {"tokenizer.json": b"{}"}
        tiny.server.add(REPO, {name: files[name] for name in ("config.json", FILE, *tokenizer)})
        model = tiny.open()
        model.fetch()
        shutil.rmtree(repository(tiny.hub.cache, REPO) / ".no_exist")  # other programs do not ask
        requests = len(tiny.server.requests)
        tiny.open(model.source.name)
        assert (len(tiny.server.requests) == requests) is is_complete

    def test_missing_files_of_a_tokenizer_are_downloaded(
        self, tiny: Tiny, unreachable: Hub
    ) -> None:
        files = {name: content for name, content in tiny.files.items() if name != "vocab.txt"}
        tiny.server.add(REPO, files | {"spm.model": b"pieces"})
        model = tiny.open()
        model.fetch()
        (model.source.path / "spm.model").unlink()
        assert not has_tokenizer(tiny.open(model.source.name, unreachable).source)
        requests = len(tiny.server.requests)
        for _ in range(2):
            tiny.open(model.source.name)
            assert (model.source.path / "spm.model").read_bytes() == b"pieces"
            assert len(tiny.server.asked("/api/")) == 2
        assert len(tiny.server.requests) == requests + 1

    def test_broken_links_are_repaired(self, tiny: Tiny) -> None:
        tiny.server.add(REPO, tiny.files)
        model = tiny.open()
        shutil.rmtree(model.source.path.parents[1] / "blobs")
        reopened = tiny.open()
        assert (reopened.source.path / "vocab.txt").read_bytes() == tiny.files["vocab.txt"]

    def test_files_may_be_in_the_store_of_all_models(self, tiny: Tiny) -> None:
        tiny.server.add(REPO, tiny.files)
        model = tiny.open()
        model.fetch()
        # huggingface_hub 2.4: blobs/<etag> -> <cache>/blobs/<ab>/<hash>
        blob = (model.source.path / FILE).resolve()
        store = tiny.hub.cache / "blobs" / "ab" / ("ab" * 32)
        store.parent.mkdir(parents=True)
        blob.rename(store)
        blob.symlink_to(Path("..", "..", "blobs", "ab", store.name))
        assert tiny.open(model.source.name).checkpoint == model.checkpoint

    def test_a_read_only_cache_is_opened(self, tiny: Tiny) -> None:
        tiny.server.add(REPO, tiny.files)
        absent = repository(tiny.hub.cache, REPO) / ".no_exist"
        absent.parent.mkdir(parents=True)
        absent.write_text("no folder can be created")
        assert tiny.open().checkpoint is not None

    def test_without_a_network_the_cache_is_opened(self, tiny: Tiny, unreachable: Hub) -> None:
        with pytest.raises(UserError) as raised:
            tiny.open(hub=unreachable)
        assert str(raised.value) == f"hf://{REPO}@main: {unreachable.host} cannot be reached"
        commit = tiny.server.add(REPO, tiny.files)
        model = tiny.open()
        offline = tiny.open(hub=unreachable)
        assert offline.source.name == f"hf://{REPO}@{commit}"
        assert offline.checkpoint is None
        assert offline.why_no_weights == (
            f"hf://{REPO}@{commit}: its weights are not in the local cache, and "
            f"{unreachable.host} cannot be reached"
        )
        model.fetch()
        offline = tiny.open(hub=unreachable)
        assert offline.checkpoint is not None
        assert not offline.why_no_weights
