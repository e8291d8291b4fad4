"""The Hub's description of a model: only valid ones are read, and only some files are listed."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from bertviewer.core.hub.download import get_listing
from bertviewer.core.hub.listing import Listing, RemoteFile, read_listing
from bertviewer.core.hub.transfers import TransferProcess
from bertviewer.core.sources.model_source import HubName
from bertviewer.core.util.errors import UserError
from tests.core.hub.conftest import REPO
from tests.core.hub.hub_server import Fault, HubServer
from tests.tools.refusals import refusals

NAME = HubName(REPO)
COMMIT, DIGEST = "0f" * 20, "0" * 40


def description(*files: object, sha: object = COMMIT) -> dict[str, object]:
    return {"sha": sha, "siblings": list(files)}


def file(name: str = "config.json", **values: object) -> dict[str, object]:
    return {"rfilename": name, "size": 5, "blobId": DIGEST} | values


def test_configurations_tokenizers_and_safetensors_are_listed() -> None:
    names = ("config.json", "vocab.txt", "spm.model", "model-00001-of-00002.safetensors",
             "modeling.py", "pytorch_model.bin", "README.md", "onnx/model.safetensors",
             "../x.safetensors", ".safetensors")  # fmt: skip
    large = file("model.safetensors", lfs={"sha256": "ab" * 32, "size": 7})
    found = read_listing(NAME, description(*map(file, names), large))
    assert found == Listing(
        HubName(REPO, COMMIT),
        {
            **{name: RemoteFile(name, 5, DIGEST) for name in names[:4]},
            "model.safetensors": RemoteFile("model.safetensors", 7, "ab" * 32),
        },
    )


INVALID: dict[str, Any] = {
    "a list": [],
    "null": None,
    "no siblings": {"sha": COMMIT},
    "a number of siblings": {"sha": COMMIT, "siblings": 1},
    "a file without a name": description({}),
    "no commit": description(sha=None),
    "a short commit": description(sha="x"),
    "a path as a commit": description(sha="../../../../etc"),
    "a negative size": description(file(size=-1)),
    "a boolean size": description(file(size=True)),
    "no size": description(file(size=None)),
    "a path as a digest": description(file(blobId="../../x")),
    "no digest": description(file(blobId=None)),
    "a short digest": description(file(lfs={"sha256": "x", "size": 5})),
    "a number as a digest": description(file(lfs=7)),
    "a vocabulary of 10 GB": description(file("vocab.txt", size=10**10)),
}


def test_invalid_descriptions_are_refused(golden: Callable[[str, str], None]) -> None:
    golden("refusals/listing.txt", refusals(lambda data: read_listing(NAME, data), INVALID))


@pytest.mark.parametrize("content", [b" ", b"<html>", b"[" * 100_000, b'{"sha": NaN}'])
def test_answers_of_other_servers_are_refused(
    server: HubServer, process: TransferProcess, content: bytes
) -> None:
    server.add(REPO, {})
    server.fail("/api/", Fault(content=content))
    with pytest.raises(UserError, match="does not answer like a model hub"):
        get_listing(process, NAME, lambda _nbytes, _remark: None)


def test_a_renamed_model_is_found(server: HubServer, process: TransferProcess) -> None:
    commit = server.add("new/name", {})
    server.fail("old/name", Fault(307, {"Location": "/api/models/new/name/revision/main"}))
    listing = get_listing(process, HubName("old/name"), lambda _nbytes, _remark: None)
    assert listing.name == HubName("old/name", commit)
    # The redirect lacks the query.
    assert json.dumps([request.path for request in server.requests]).count("blobs=true") == 2
