"""The Hub's cache on this disk: its models, and the commits of branches."""

from pathlib import Path

import pytest

from bertviewer.core.hub.cache import (
    CachedModel,
    cached_commit,
    cached_models,
    remember_branch,
)
from bertviewer.core.hub.connection import Hub
from bertviewer.core.hub.opening import open_hub
from bertviewer.core.sources.model_source import HubName
from bertviewer.core.util.errors import UserError
from tests.core.hub.conftest import REPO, hub_source
from tests.core.hub.hub_server import HubServer

COMMIT = "c0ffee" * 6 + "c0ff"


def test_without_a_cache_there_are_no_models(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert cached_models(cache) == ()
    cache.mkdir()
    assert cached_models(cache) == ()
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UserError, match="the Hub cache cannot be read"):
        cached_models(tmp_path / "file")


def test_models_are_listed_with_the_newest_first(
    server: HubServer, hub: Hub, tiny_files: dict[str, bytes]
) -> None:
    first = server.add(REPO, tiny_files)
    model = open_hub(hub_source(), hub=hub)
    [cached] = cached_models(hub.cache)
    assert not cached.has_weights
    model.fetch()
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
    found = [(m.name.revision, m.branches, m.has_weights) for m in cached_models(hub.cache)]
    assert found == [(second, ("main",), False), (first, (), True)]


def test_only_models_that_can_be_opened_are_listed(tmp_path: Path) -> None:
    def write(path: str, content: bytes = b"{}") -> None:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)

    write(f"models--a--ok/snapshots/{COMMIT}/config.json")
    write(f"models--a--ok/snapshots/{COMMIT}/model.safetensors.index.json", b"no index")
    write(f"models--a--nested/snapshots/{COMMIT}/onnx/config.json")
    write(f"models--a--exported/snapshots/{COMMIT}/config.json")
    write(f"models--a--exported/snapshots/{COMMIT}/onnx/model.safetensors")
    write("models--a--branch/snapshots/main/config.json")
    write(f"datasets--a--b/snapshots/{COMMIT}/config.json")
    write("models--a--empty/refs/main", COMMIT.encode())
    write("something else", b"")
    found = {(model.name.repo, model.has_weights) for model in cached_models(tmp_path)}
    assert found == {("a/ok", False), ("a/exported", False)}


def test_a_branch_has_the_commit_that_was_last_seen(tmp_path: Path) -> None:
    cache, name = tmp_path / "cache", HubName("a/b", "refs/pr/1")
    assert cached_commit(cache, name) is None
    folder = cache / "models--a--b" / "snapshots" / COMMIT
    folder.mkdir(parents=True)
    (folder / "config.json").write_bytes(b"{}")
    assert cached_commit(cache, name) is None
    remember_branch(cache, name, COMMIT)
    assert cached_commit(cache, name) == HubName("a/b", COMMIT)
    # A commit that is a path out of the cache is ignored.
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "config.json").write_bytes(b"{}")
    remember_branch(cache, name, "../../../../outside")
    assert cached_commit(cache, name) is None
