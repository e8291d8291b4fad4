"""When all of a model is on this disk, so that the hub need not be asked for the rest."""

import shutil

import pytest
from huggingface_hub import _CACHED_NO_EXIST, try_to_load_from_cache

from bertviewer.core.hub.cache import repository
from bertviewer.core.hub.connection import Hub
from bertviewer.core.hub.opening import open_hub
from tests.core.hub.conftest import REPO, hub_source
from tests.core.hub.hub_server import HubServer


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
