"""The cache on this disk: listing its models, and what is complete without the Hub."""

import shutil
from pathlib import Path

import pytest
from huggingface_hub import _CACHED_NO_EXIST, try_to_load_from_cache

from bertviewer.core.hub.cache import (
    CachedModel,
    cached_commit,
    cached_models,
    remember_branch,
    repository,
)
from bertviewer.core.hub.connection import Hub
from bertviewer.core.hub.opening import open_hub
from bertviewer.core.sources.model_source import HubName
from bertviewer.core.util.errors import UserError
from tests.core.hub.conftest import REPO, hub_source
from tests.core.hub.hub_server import HubServer

COMMIT = "c0ffee" * 6 + "c0ff"


def listed(hub: Hub) -> list[tuple[str, tuple[str, ...], bool]]:
    return [(str(m.name), m.branches, m.has_weights) for m in cached_models(hub.cache)]


def test_no_cache_is_an_empty_one(hub: Hub) -> None:
    assert cached_models(hub.cache) == ()
    hub.cache.mkdir()
    assert cached_models(hub.cache) == ()


def test_a_cache_that_is_a_file(hub: Hub) -> None:
    hub.cache.write_bytes(b"")
    with pytest.raises(UserError, match="the Hub cache cannot be read"):
        cached_models(hub.cache)


def test_models_at_their_commits_the_newest_first(
    server: HubServer, hub: Hub, tiny_files: dict[str, bytes]
) -> None:
    first = server.add(REPO, tiny_files)
    model = open_hub(hub_source(), hub=hub)
    assert listed(hub) == [(f"hf://{REPO}@{first}", ("main",), False)]
    model.fetch()
    assert listed(hub) == [(f"hf://{REPO}@{first}", ("main",), True)]
    [cached] = cached_models(hub.cache)
    files = list(model.source.path.iterdir())
    assert cached == CachedModel(
        HubName(REPO, first),
        ("main",),
        sum(file.stat().st_size for file in files),
        max(file.stat().st_mtime for file in files),
        has_weights=True,
    )
    second = server.add(REPO, tiny_files | {"vocab.txt": b"[UNK]\nnew\n"})
    open_hub(hub_source(), hub=hub)
    assert listed(hub) == [
        (f"hf://{REPO}@{second}", ("main",), False),
        (f"hf://{REPO}@{first}", (), True),
    ]


def test_what_is_no_model_is_left_out(hub: Hub) -> None:
    def put(place: str, content: bytes = b"{}") -> None:
        file = hub.cache / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)

    put(f"models--a--ok/snapshots/{COMMIT}/config.json")
    put(f"models--a--ok/snapshots/{COMMIT}/model.safetensors.index.json", b"no index")
    put(f"models--a--nested/snapshots/{COMMIT}/onnx/config.json")
    put(f"models--a--elsewhere/snapshots/{COMMIT}/config.json")
    put(f"models--a--elsewhere/snapshots/{COMMIT}/onnx/model.safetensors")
    put("models--a--odd/snapshots/main/config.json")
    put(f"datasets--a--b/snapshots/{COMMIT}/config.json")
    put("models--a--empty/refs/main", COMMIT.encode())
    put("something else", b"")
    assert sorted(listed(hub)) == [
        (f"hf://a/elsewhere@{COMMIT}", (), False),
        (f"hf://a/ok@{COMMIT}", (), False),
    ]


def test_a_branch_is_where_it_was_last_seen(hub: Hub, tmp_path: Path) -> None:
    name = HubName("a/b", "refs/pr/1")
    assert cached_commit(hub.cache, name) is None
    folder = hub.cache / "models--a--b" / "snapshots" / COMMIT
    folder.mkdir(parents=True)
    (folder / "config.json").write_bytes(b"{}")
    assert cached_commit(hub.cache, name) is None
    remember_branch(hub.cache, name, COMMIT)
    assert cached_commit(hub.cache, name) == HubName("a/b", COMMIT)
    # A branch that leads out of the cache leads nowhere.
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "config.json").write_bytes(b"{}")
    remember_branch(hub.cache, name, "../../../../outside")
    assert cached_commit(hub.cache, name) is None


def test_a_store_shared_by_all_models(
    server: HubServer, hub: Hub, tiny_files: dict[str, bytes]
) -> None:
    server.add(REPO, tiny_files)
    model = open_hub(hub_source(), hub=hub)
    model.fetch()
    # As huggingface_hub lays large files out since 2.4: blobs/<etag> -> <cache>/blobs/<ab>/<hash>
    blob = (model.source.path / "model.safetensors").resolve()
    store = hub.cache / "blobs" / "ab" / ("ab" * 32)
    store.parent.mkdir(parents=True)
    blob.rename(store)
    blob.symlink_to(Path("..", "..", "blobs", "ab", store.name))
    again = open_hub(model.source, hub=hub)
    assert again.checkpoint == model.checkpoint
    assert listed(hub)[0][2]


@pytest.mark.parametrize(
    ("left", "asks"),
    [
        (["tokenizer.json", "tokenizer_config.json"], False),
        (["tokenizer.json"], True),
        (["tokenizer_config.json", "vocab.txt"], True),
    ],
)
def test_what_another_program_has_left_is_complete_if_nothing_can_lack(
    left: list[str], asks: bool, server: HubServer, hub: Hub, tiny_files: dict[str, bytes]
) -> None:
    names = {"config.json", "model.safetensors", *left}
    every = tiny_files | {"tokenizer.json": b"{}"}
    server.add(REPO, {name: every[name] for name in names})
    source = open_hub(hub_source(), hub=hub).source
    open_hub(source, hub=hub).fetch()
    shutil.rmtree(repository(hub.cache, REPO) / ".no_exist")
    asked = len(server.requests)
    open_hub(source, hub=hub)
    assert (len(server.requests) > asked) is asks


def test_the_hubs_own_client_knows_what_is_absent(
    server: HubServer, hub: Hub, tiny_files: dict[str, bytes]
) -> None:
    commit = server.add(REPO, tiny_files)
    open_hub(hub_source(), hub=hub)
    found = try_to_load_from_cache(REPO, "spm.model", hub.cache, commit)
    assert found is _CACHED_NO_EXIST
    assert isinstance(try_to_load_from_cache(REPO, "vocab.txt", hub.cache, commit), str)


def test_a_cache_that_cannot_be_written_is_opened(
    server: HubServer, hub: Hub, tiny_files: dict[str, bytes]
) -> None:
    server.add(REPO, tiny_files)
    absent = repository(hub.cache, REPO) / ".no_exist"
    absent.parent.mkdir(parents=True)
    absent.write_text("no folder can be made here")
    assert open_hub(hub_source(), hub=hub).checkpoint is not None
