"""Models on the hub that are none, or not described as the hub does."""

import json

import pytest

from bertviewer.core.hub.connection import Hub
from bertviewer.core.hub.opening import open_hub
from bertviewer.core.util.errors import UserError
from tests.core.hub.conftest import REPO, hub_source
from tests.core.hub.hub_server import Fault, HubServer


def test_a_model_without_safetensors_says_so(
    server: HubServer, hub: Hub, tiny_files: dict[str, bytes]
) -> None:
    del tiny_files["model.safetensors"]
    commit = server.add(REPO, tiny_files)
    model = open_hub(hub_source(), hub=hub)
    assert model.checkpoint is None
    assert model.missing_bytes() == 0
    assert model.why_no_weights == (
        f"hf://{REPO}@{commit}: it has no model.safetensors on the Hub, and nothing else is "
        "downloaded"
    )


def test_a_repository_that_is_no_model(server: HubServer, hub: Hub) -> None:
    commit = server.add(REPO, {"README.md": b"#"})
    with pytest.raises(UserError, match=f"hf://{REPO}@{commit}: there is no config.json"):
        open_hub(hub_source(), hub=hub)


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"", "does not answer like a model hub"),
        (b"<html>", "does not answer like a model hub"),
        (b"[" * 100_000, "does not answer like a model hub"),
        (b"[]", "cannot be read"),
        (b"null", "cannot be read"),
        (b'{"sha": "x", "siblings": []}', "does not say which commit"),
        (b'{"sha": null, "siblings": []}', "does not say which commit"),
        (b'{"sha": "../../../../etc", "siblings": []}', "does not say which commit"),
        (b'{"siblings": [{}]}', "cannot be read"),
        (b'{"sha": "%s", "siblings": 1}' % (b"0" * 40), "cannot be read"),
    ],
)
def test_descriptions_that_are_none(
    server: HubServer, hub: Hub, content: bytes, cause: str
) -> None:
    server.add(REPO, {})
    server.fail("/api/", Fault(content=content or b" "))
    with pytest.raises(UserError, match=cause):
        open_hub(hub_source(), hub=hub)
    assert not hub.cache.exists()


@pytest.mark.parametrize(
    "entry",
    [
        {"rfilename": "config.json", "size": -1, "blobId": "0" * 40},
        {"rfilename": "config.json", "size": True, "blobId": "0" * 40},
        {"rfilename": "config.json", "size": 5, "blobId": "../../x"},
        {"rfilename": "config.json", "size": 5},
        {"rfilename": "model.safetensors", "size": 5, "lfs": {"sha256": "x", "size": 5}},
        {"rfilename": "model.safetensors", "size": 5, "lfs": 7},
    ],
)
def test_files_described_badly(server: HubServer, hub: Hub, entry: dict[str, object]) -> None:
    server.add(REPO, {})
    data = json.dumps({"sha": "0" * 40, "siblings": [entry]})
    server.fail("/api/", Fault(content=data.encode()))
    with pytest.raises(UserError, match="cannot be read"):
        open_hub(hub_source(), hub=hub)


def test_a_configuration_of_gigabytes_is_not_begun(server: HubServer, hub: Hub) -> None:
    server.add(REPO, {})
    entry = {"rfilename": "vocab.txt", "size": 10**10, "blobId": "0" * 40}
    data = json.dumps({"sha": "0" * 40, "siblings": [entry]})
    server.fail("/api/", Fault(content=data.encode()))
    with pytest.raises(UserError, match=r"vocab\.txt on the Hub is 10000 MB"):
        open_hub(hub_source(), hub=hub)
    assert not server.asked("/resolve/")


def test_weights_that_are_none_are_refused_by_their_first_bytes(
    server: HubServer, hub: Hub, tiny_files: dict[str, bytes]
) -> None:
    server.add(REPO, tiny_files | {"model.safetensors": b"version https://git-lfs.github.com/x\n"})
    with pytest.raises(UserError, match="Git LFS pointer"):
        open_hub(hub_source(), hub=hub)
