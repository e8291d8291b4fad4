"""Which files a checkpoint consists of; none of them is outside of its folder."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bertviewer.core.checkpoints.finding import (
    LINKS_OUTSIDE,
    WEIGHTS,
    WEIGHTS_INDEX,
    find_checkpoint,
)
from bertviewer.core.checkpoints.stored import Checkpoint
from bertviewer.core.util.errors import UserError
from tests.core.checkpoints.safetensors_files import F32, GOOD, LFS, index, packed
from tests.tools.refusals import refusals

OTHER = packed({"b": F32, "c": {**F32, "data_offsets": [16, 32]}}, b"\0" * 32)
SHARDS = {"a": "good.safetensors", "b": "other.safetensors", "c": "other.safetensors"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a tensor in ``good.safetensors`` and two in ``other.safetensors``."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "good.safetensors").write_bytes(GOOD)
    (folder / "other.safetensors").write_bytes(OTHER)
    return folder


def found(path: Path) -> Checkpoint:
    checkpoint = find_checkpoint(path)
    assert checkpoint is not None
    return checkpoint


def refusal(path: Path) -> str:
    with pytest.raises(UserError) as raised:
        find_checkpoint(path)
    return str(raised.value)


NAMES = ("../model.safetensors", "other/x.safetensors", "/etc/passwd", "..", "",
         "..\\model.safetensors", "C:model.safetensors", "x\0.safetensors", "pytorch_model.bin",
         "absent.safetensors")  # fmt: skip
INVALID_INDEXES = {
    "empty": b"",
    "LFS pointer": LFS,
    "not UTF-8": b'{"\xff": 1}',
    "deep nesting": b"[" * 200_000,
    "a list": b"[]",
    "no weight_map": b"{}",
    "an empty weight_map": index({}),
    "a number as a name": index({"a": 1}),
    **{f"the name {name!r}": index({"a": name}) for name in NAMES},
    "a missing tensor": index({"a": "good.safetensors", "b": "good.safetensors"}),
    "a tensor in another file": index({**SHARDS, "b": "good.safetensors"}),
}


def test_every_kind_of_invalid_index_has_its_message(
    folder: Path, golden: Callable[[str, str], None]
) -> None:
    (folder.parent / "model.safetensors").write_bytes(GOOD)  # the target of "../"

    def find(content: bytes) -> object:
        (folder / WEIGHTS_INDEX).write_bytes(content)
        return find_checkpoint(folder)

    golden("refusals/index.txt", refusals(find, INVALID_INDEXES, folder))


def test_an_index_names_the_shards(folder: Path) -> None:
    (folder / WEIGHTS_INDEX).write_bytes(index(SHARDS, metadata={"total_size": 48.0}))
    checkpoint = found(folder)
    assert {key: tensor.file.name for key, tensor in checkpoint.tensors.items()} == SHARDS
    assert checkpoint.nbytes == len(GOOD) + len(OTHER)
    names = [file.path.name for file in checkpoint.files]
    assert names == ["good.safetensors", "other.safetensors"]


def test_invalid_shards_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    again = folder / "again.safetensors"
    again.symlink_to("good.safetensors")  # thousands of links to one large file
    (folder / WEIGHTS_INDEX).write_bytes(index({"a": "good.safetensors", "b": again.name}))
    assert refusal(folder) == f"{again}: the same file as 'good.safetensors'"
    (folder / WEIGHTS_INDEX).write_bytes(index(SHARDS))
    with monkeypatch.context() as patch:
        patch.setattr("bertviewer.core.checkpoints.finding.MAX_TENSORS", 2)
        assert refusal(folder) == f"{folder}: its files contain more than 2 tensors"
    (folder / "other.safetensors").write_bytes(OTHER[:-1])
    assert refusal(folder).startswith(f"{folder / 'other.safetensors'}: truncated: ")


def test_a_checkpoint_is_one_file_of_a_folder_or_a_file(folder: Path) -> None:
    assert find_checkpoint(folder) is None  # two files and no index
    (folder / WEIGHTS).write_bytes(GOOD)
    assert list(found(folder).tensors) == ["a"]
    assert list(found(folder / "other.safetensors").tensors) == ["b", "c"]


def test_shards_without_an_index_are_refused(folder: Path) -> None:
    (folder / "good.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    assert refusal(folder) == (
        f"{folder}: model-00001-of-00002.safetensors is one of several files, and "
        "model.safetensors.index.json is missing"
    )


def test_links_out_of_the_folder_are_refused(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.safetensors"
    outside.write_bytes(GOOD)
    link = folder / WEIGHTS
    link.symlink_to(outside)
    assert refusal(folder) == refusal(link) == f"{link}: {LINKS_OUTSIDE}"
    link.unlink()
    shard = folder / "shard.safetensors"
    shard.symlink_to(outside)
    (folder / WEIGHTS_INDEX).write_bytes(index({"a": shard.name}))
    assert refusal(folder) == f"{shard}: {LINKS_OUTSIDE}"
    (folder / WEIGHTS_INDEX).unlink()
    (tmp_path / "index").write_bytes(index({"a": "good.safetensors"}))
    (folder / WEIGHTS_INDEX).symlink_to(tmp_path / "index")
    assert refusal(folder) == f"{folder / WEIGHTS_INDEX}: {LINKS_OUTSIDE}"


def test_broken_links_are_refused(folder: Path) -> None:
    link = folder / WEIGHTS
    link.symlink_to(folder / "absent")
    assert refusal(folder) == f"{link}: No such file or directory"
    link.unlink()
    link.symlink_to(WEIGHTS)
    assert refusal(folder).startswith(f"{link}: ")


def test_links_within_the_folder_and_to_the_folder_are_followed(
    folder: Path, tmp_path: Path
) -> None:
    (folder / WEIGHTS).symlink_to("good.safetensors")
    (tmp_path / "elsewhere").symlink_to(folder)
    for path in (folder, tmp_path / "elsewhere"):
        assert list(found(path).tensors) == ["a"]


def test_the_hubs_cache_may_link_to_its_blobs_only(tmp_path: Path) -> None:
    repository = tmp_path / "models--org--name"
    link = repository / "snapshots" / "0123abcd" / WEIGHTS
    link.parent.mkdir(parents=True)
    # The blobs of the model, and the store that all models share.
    allowed = repository / "blobs" / "53aa", tmp_path / "blobs" / "53" / "53aa"
    others = repository / "secret", tmp_path / "secrets" / "53" / "53aa"
    for target in (*allowed, *others):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(GOOD)
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        if target in allowed:
            assert list(found(link.parent).tensors) == ["a"]
        else:
            assert LINKS_OUTSIDE in refusal(link.parent)
