"""Small files are kept in one step, checked when they are read, and never too many of them."""

import hashlib
import json
import os
import threading
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import ValidationError

from bertviewer.core.saving import disk_cache as module
from bertviewer.core.saving.disk_cache import SUFFIX, JsonStore
from bertviewer.core.util.errors import UserError

CONTENT = {"numbers": [1, 2.5, None], "text": "名"}


@pytest.fixture
def store(tmp_path: Path) -> JsonStore:
    return JsonStore(tmp_path / "kept", 1_000_000)


def the_file(store: JsonStore) -> Path:
    (file,) = store.folder.glob(f"*{SUFFIX}")
    return file


def signed(packed: bytes) -> bytes:
    return hashlib.sha256(packed).digest() + packed


def test_what_is_written_is_read(store: JsonStore) -> None:
    assert store.read("name", "key") is None
    store.write("name", "key", CONTENT)
    assert store.read("name", "key") == CONTENT
    assert store.read("other", "key") is None


def test_numbers_and_texts_that_json_does_not_have(store: JsonStore) -> None:
    store.write("name", "key", {"most": [float("inf"), 1.0]})
    assert store.read("name", "key") == {"most": [float("inf"), 1.0]}
    with pytest.raises(UserError, match="not valid Unicode"):
        store.write("name", "key", ["\ud800"])


def test_of_another_key_nothing_is_read_and_the_file_stays(store: JsonStore) -> None:
    store.write("preset", "of this version", CONTENT)
    assert store.read("preset", "of the next version") is None
    assert store.read("preset", "of this version") == CONTENT


@given(cut=st.integers(0, 200), place=st.integers(0, 200), bit=st.integers(0, 7))
def test_damage_is_noticed(
    tmp_path_factory: pytest.TempPathFactory, cut: int, place: int, bit: int
) -> None:
    store = JsonStore(tmp_path_factory.mktemp("damaged"), 1_000_000)
    store.write("name", "key", CONTENT)
    file = the_file(store)
    whole = bytearray(file.read_bytes())
    whole[place % len(whole)] ^= 1 << bit
    for damaged in (bytes(whole), file.read_bytes()[: cut % len(whole)]):
        file.write_bytes(damaged)
        with pytest.raises(ValidationError):
            store.read("name", "key")


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"not packed",
        zlib.compress(b""),
        zlib.compress(b"["),
        zlib.compress(b"[" * 200_000),
        zlib.compress(b"\xff"),
        zlib.compress(b"{}" * 10)[:-3],
    ],
)
def test_what_somebody_else_wrote_is_noticed(store: JsonStore, packed: bytes) -> None:
    store.write("name", "key", CONTENT)
    the_file(store).write_bytes(signed(packed))
    with pytest.raises(ValidationError):
        store.read("name", "key")


@pytest.mark.parametrize("text", ["[]", "null", "{}", '{"key": 5}', '{"content": {}}'])
def test_other_json_is_of_no_key(store: JsonStore, text: str) -> None:
    store.write("name", "key", CONTENT)
    the_file(store).write_bytes(signed(zlib.compress(text.encode())))
    assert store.read("name", "key") is None


def test_a_small_file_that_unpacks_to_a_large_one_is_not_unpacked(
    store: JsonStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write("name", "key", ["x" * 2_000_000])
    monkeypatch.setattr(module, "MAX_CONTENT", 1_000_000)
    with pytest.raises(ValidationError, match="too large"):
        store.read("name", "key")


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "huge"])
def test_what_is_no_file_of_ours_is_not_even_opened(store: JsonStore, kind: str) -> None:
    store.folder.mkdir()
    path = store.folder / f"name{SUFFIX}"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.touch()
        os.truncate(path, module.MAX_CONTENT + 1)
    assert store.read("name", "key") is None


@pytest.mark.parametrize("kind", ["folder", "pipe", "link"])
def test_what_is_in_a_files_place_is_removed_and_no_link_is_followed(
    store: JsonStore, tmp_path: Path, kind: str
) -> None:
    store.folder.mkdir()
    path, other = store.folder / f"name{SUFFIX}", tmp_path / "somebody's"
    other.write_text("somebody's")
    if kind == "folder":
        (path / "full").mkdir(parents=True)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(other)
    store.write("name", "key", CONTENT)
    assert store.read("name", "key") == CONTENT
    assert not path.is_symlink()
    assert other.read_text() == "somebody's"


def test_what_would_not_be_read_again_is_not_written(
    store: JsonStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_CONTENT", 100)
    with pytest.raises(UserError, match="too large to cache"):
        store.write("name", "key", ["x" * 100])
    assert not store.folder.exists()


def test_a_moments_trouble_is_no_reason_to_throw_a_file_away(
    store: JsonStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write("name", "key", CONTENT)
    with monkeypatch.context() as patch:

        def too_many(*_: object) -> None:
            raise UserError("Too many open files")

        patch.setattr(module, "read_small_file", too_many)
        assert store.read("name", "key") is None

        def not_allowed(*_: object) -> None:
            raise PermissionError("a folder that nobody may look into")

        patch.setattr(Path, "is_file", not_allowed)
        assert store.read("name", "key") is None
    assert store.read("name", "key") == CONTENT


def test_what_came_with_the_program_is_only_read(store: JsonStore) -> None:
    store.write("name", "key", CONTENT)
    os.utime(the_file(store), (1, 1))
    fixed = JsonStore(store.folder, None)
    assert fixed.read("name", "key") == CONTENT
    fixed.remove("name")
    assert the_file(store).stat().st_mtime == 1
    store.read("name", "key")
    assert the_file(store).stat().st_mtime > 1


def test_what_a_program_that_was_ended_left_is_removed(store: JsonStore) -> None:
    store.folder.mkdir()
    old, new = store.folder / ".bertviewer-old", store.folder / ".bertviewer-new"
    for path in (old, new):
        path.touch()
    os.utime(old, (1, 1))
    store.write("name", "key", CONTENT)
    assert not old.exists()
    assert new.exists()


def test_those_not_used_for_longest_make_room(tmp_path: Path) -> None:
    small = JsonStore(tmp_path, 1_000_000)
    for number in range(5):
        small.write(str(number), "key", os.urandom(5_000).hex())
        file = tmp_path / f"{number}{SUFFIX}"
        os.utime(file, (number, number))
    small.read("0", "key")  # used just now
    of_three = 100 + 3 * max(file.stat().st_size for file in tmp_path.iterdir())
    JsonStore(tmp_path, of_three).write("5", "key", os.urandom(5_000).hex())
    left = {file.name.removesuffix(SUFFIX) for file in tmp_path.iterdir()}
    assert left == {"0", "4", "5"}


def test_a_folder_that_takes_nothing_is_told(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file stands where the folder would be")
    store = JsonStore(tmp_path / "kept", 1_000_000)
    with pytest.raises(UserError, match=r"kept: (File exists|Not a directory)"):
        store.write("name", "key", CONTENT)
    assert store.read("name", "key") is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes anywhere")
def test_a_folder_that_may_only_be_read_is_read(store: JsonStore) -> None:
    store.write("name", "key", CONTENT)
    store.folder.chmod(0o555)
    assert store.read("name", "key") == CONTENT
    with pytest.raises(UserError):
        store.write("name", "key", CONTENT)
    store.folder.chmod(0o755)


def test_two_at_once_read_and_write_whole_files(store: JsonStore) -> None:
    contents = [json.loads(json.dumps([number] * 20_000)) for number in range(4)]
    odd: list[object] = []

    def work(content: object) -> None:
        for _ in range(20):
            store.write("name", "key", content)
            if (found := store.read("name", "key")) not in contents:
                odd.append(found)

    threads = [threading.Thread(target=work, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert odd == []
    assert [file.name for file in store.folder.iterdir()] == [f"name{SUFFIX}"]
