"""Which files a checkpoint consists of, and that none of them lies anywhere else."""

from pathlib import Path

import pytest

from bertviewer.core.checkpoints.finding import (
    LINKS_OUTSIDE,
    WEIGHTS,
    WEIGHTS_INDEX,
    find_checkpoint,
)
from bertviewer.core.util.errors import UserError
from tests.core.checkpoints.bad_safetensors import BAD_INDEXES, F32, GOOD, BadFile, index, packed

OTHER = packed({"b": F32, "c": {**F32, "data_offsets": [16, 32]}}, b"\0" * 32)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two shards, and no index yet."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "good.safetensors").write_bytes(GOOD)
    (folder / "other.safetensors").write_bytes(OTHER)
    return folder


def refused(path: Path) -> str:
    with pytest.raises(UserError) as raised:
        find_checkpoint(path)
    return str(raised.value)


@pytest.mark.parametrize("bad", BAD_INDEXES, ids=lambda bad: bad.name)
def test_every_broken_index_in_its_own_words(bad: BadFile, folder: Path) -> None:
    (folder.parent / "model.safetensors").write_bytes(GOOD)  # where "../" would lead
    (folder / WEIGHTS_INDEX).write_bytes(bad.content)
    assert refused(folder) == f"{folder / WEIGHTS_INDEX}: {bad.message}"


def test_shards(folder: Path) -> None:
    names = {"a": "good.safetensors", "b": "other.safetensors", "c": "other.safetensors"}
    (folder / WEIGHTS_INDEX).write_bytes(index(names, metadata={"total_size": 48.0}))
    found = find_checkpoint(folder)
    assert found is not None
    assert {key: tensor.file.name for key, tensor in found.tensors.items()} == names
    assert found.nbytes == len(GOOD) + len(OTHER)
    assert [file.path.name for file in found.files] == ["good.safetensors", "other.safetensors"]


def test_a_shard_under_two_names(folder: Path) -> None:
    # Each header may be large, and an index may name thousands.
    (folder / "again.safetensors").symlink_to("good.safetensors")
    (folder / WEIGHTS_INDEX).write_bytes(index({"a": "good.safetensors", "b": "again.safetensors"}))
    again = folder / "again.safetensors"
    assert refused(folder) == f"{again}: the same file as 'good.safetensors'"


def test_more_tensors_than_any_model_in_all_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bertviewer.core.checkpoints.finding.MAX_TENSORS", 2)
    (folder / WEIGHTS_INDEX).write_bytes(index({"a": "good.safetensors", "b": "other.safetensors"}))
    assert refused(folder) == f"{folder}: its files contain more than 2 tensors"


def test_a_bad_shard_is_named(folder: Path) -> None:
    (folder / WEIGHTS_INDEX).write_bytes(index({"a": "good.safetensors", "b": "other.safetensors"}))
    (folder / "other.safetensors").write_bytes(OTHER[:-1])
    assert refused(folder).startswith(f"{folder / 'other.safetensors'}: truncated: ")


def test_one_file_of_a_folder_or_alone(folder: Path) -> None:
    assert find_checkpoint(folder) is None
    (folder / WEIGHTS).write_bytes(GOOD)
    whole, one = find_checkpoint(folder), find_checkpoint(folder / "other.safetensors")
    assert whole is not None
    assert one is not None
    assert (list(whole.tensors), list(one.tensors)) == (["a"], ["b", "c"])


def test_shards_without_their_index(folder: Path) -> None:
    (folder / "good.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    assert refused(folder) == (
        f"{folder}: model-00001-of-00002.safetensors is one of several files, and "
        "model.safetensors.index.json is missing"
    )


def test_a_link_that_leaves_the_folder(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.safetensors"
    outside.write_bytes(GOOD)
    link = folder / WEIGHTS
    link.symlink_to(outside)
    cause = LINKS_OUTSIDE
    assert refused(folder) == f"{link}: {cause}"
    assert refused(link) == f"{link}: {cause}"
    link.unlink()
    (folder / "shard.safetensors").symlink_to(outside)
    (folder / WEIGHTS_INDEX).write_bytes(index({"a": "shard.safetensors"}))
    assert refused(folder) == f"{folder / 'shard.safetensors'}: {cause}"
    (folder / WEIGHTS_INDEX).unlink()
    (tmp_path / "index").write_bytes(index({"a": "good.safetensors"}))
    (folder / WEIGHTS_INDEX).symlink_to(tmp_path / "index")
    assert refused(folder) == f"{folder / WEIGHTS_INDEX}: {cause}"


def test_links_that_lead_nowhere(folder: Path) -> None:
    link = folder / WEIGHTS
    link.symlink_to(folder / "absent")
    assert refused(folder) == f"{link}: No such file or directory"
    link.unlink()
    link.symlink_to(WEIGHTS)
    assert refused(folder).startswith(f"{link}: ")


def test_links_within_the_folder_and_to_the_folder(folder: Path, tmp_path: Path) -> None:
    (folder / WEIGHTS).symlink_to("good.safetensors")
    assert find_checkpoint(folder) is not None
    (tmp_path / "elsewhere").symlink_to(folder)
    assert find_checkpoint(tmp_path / "elsewhere") is not None


def test_the_hubs_cache_links_to_its_blobs(tmp_path: Path) -> None:
    repository = tmp_path / "models--org--name"
    snapshot = repository / "snapshots" / "0123abcd"
    snapshot.mkdir(parents=True)
    (repository / "blobs").mkdir()
    (repository / "blobs" / "53aa").write_bytes(GOOD)
    (snapshot / WEIGHTS).symlink_to("../../blobs/53aa")
    assert find_checkpoint(snapshot) is not None
    (repository / "secret").write_bytes(GOOD)
    (snapshot / WEIGHTS).unlink()
    (snapshot / WEIGHTS).symlink_to("../../secret")
    assert LINKS_OUTSIDE in refused(snapshot)
