"""Small files are written atomically, verified when they are read, and evicted."""

import hashlib
import os
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import ValidationError

from bertviewer.core.saving import disk_cache as module
from bertviewer.core.saving.disk_cache import SUFFIX, JsonStore
from bertviewer.core.util.errors import UserError

CONTENT = {"numbers": [1, 2.5, None, float("inf")], "text": "名"}


@pytest.fixture
def store(tmp_path: Path) -> JsonStore:
    return JsonStore(tmp_path / "kept", 1_000_000)


def the_file(store: JsonStore) -> Path:
    (file,) = store.folder.glob(f"*{SUFFIX}")
    return file


def signed(packed: bytes) -> bytes:
    return hashlib.sha256(packed).digest() + packed


def test_a_file_is_read_with_its_name_and_key(store: JsonStore) -> None:
    assert store.read("name", "key") is None
    store.write("name", "key", CONTENT)
    assert store.read("name", "key") == CONTENT
    assert store.read("other", "key") is None
    assert store.read("name", "of the next version") is None
    assert store.read("name", "key") == CONTENT
    store.remove("name")
    assert store.read("name", "key") is None


@settings(max_examples=40)
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
    [b"", b"not packed", *map(zlib.compress, (b"", b"[", b"[" * 200_000, b"\xff"))],
)
def test_damaged_files_of_other_programs(store: JsonStore, packed: bytes) -> None:
    store.write("name", "key", CONTENT)
    the_file(store).write_bytes(signed(packed))
    with pytest.raises(ValidationError):
        store.read("name", "key")


@pytest.mark.parametrize("text", [b"[]", b"null", b"{}", b'{"key": 5}', b'{"content": {}}'])
def test_other_json_has_no_key(store: JsonStore, text: bytes) -> None:
    store.write("name", "key", CONTENT)
    the_file(store).write_bytes(signed(zlib.compress(text)))
    assert store.read("name", "key") is None


def test_contents_that_are_too_large(store: JsonStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write("name", "key", ["x" * 2_000_000])
    monkeypatch.setattr(module, "MAX_CONTENT", 1_000_000)
    with pytest.raises(ValidationError, match="too large"):
        store.read("name", "key")
    with pytest.raises(UserError, match="too large to cache"):
        store.write("other", "key", ["x" * 1_000_000])
    with pytest.raises(UserError, match="not valid Unicode"):
        store.write("other", "key", ["\ud800"])
    assert len(list(store.folder.iterdir())) == 1


def folder(path: Path) -> None:
    (path / "full").mkdir(parents=True)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def huge(path: Path) -> None:
    path.touch()
    os.truncate(path, module.MAX_CONTENT + 1)


def link(path: Path) -> None:
    path.symlink_to(path.parents[1] / "another")


@pytest.mark.parametrize("create", [folder, os.mkfifo, device, huge, link])
def test_other_kinds_of_files_are_not_read_but_replaced(
    store: JsonStore, tmp_path: Path, create: Callable[[Path], None]
) -> None:
    store.folder.mkdir()
    other = tmp_path / "another"
    other.write_text("another program's")
    path = store.folder / f"name{SUFFIX}"
    create(path)
    if create is not link:
        assert store.read("name", "key") is None
    store.write("name", "key", CONTENT)
    assert store.read("name", "key") == CONTENT
    assert not path.is_symlink()
    assert other.read_text() == "another program's"


@pytest.mark.parametrize(
    ("target", "name", "error"),
    [
        (module, "read_small_file", UserError("Too many open files")),
        (Path, "is_file", PermissionError("the folder cannot be read")),
    ],
)
def test_a_file_that_cannot_be_read_for_a_moment_is_kept(
    target: object, name: str, error: Exception, store: JsonStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write("name", "key", CONTENT)

    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(target, name, fail)
        assert store.read("name", "key") is None
    assert store.read("name", "key") == CONTENT


def test_bundled_files_are_read_only(store: JsonStore) -> None:
    store.write("name", "key", CONTENT)
    os.utime(the_file(store), (1, 1))
    bundled = JsonStore(store.folder, None)
    assert bundled.read("name", "key") == CONTENT
    bundled.remove("name")
    assert the_file(store).stat().st_mtime == 1
    store.read("name", "key")
    assert the_file(store).stat().st_mtime > 1


def test_the_least_recently_used_files_are_evicted(tmp_path: Path) -> None:
    large = JsonStore(tmp_path, 1_000_000)
    for number in range(5):
        large.write(str(number), "key", os.urandom(5_000).hex())
        os.utime(tmp_path / f"{number}{SUFFIX}", (number, number))
    large.read("0", "key")  # used just now
    room_for_three = 100 + 3 * max(file.stat().st_size for file in tmp_path.iterdir())
    # A temporary file of a process that was killed long ago, and a new one.
    old, new = tmp_path / ".bertviewer-old", tmp_path / ".bertviewer-new"
    for path in (old, new):
        path.touch()
    os.utime(old, (1, 1))
    JsonStore(tmp_path, room_for_three).write("5", "key", os.urandom(5_000).hex())
    left = {file.name.removesuffix(SUFFIX) for file in tmp_path.iterdir()}
    assert left == {"0", "4", "5", new.name}


def test_folders_that_cannot_be_written(tmp_path: Path, store: JsonStore) -> None:
    (tmp_path / "file").write_text("a file in place of the folder")
    blocked = JsonStore(tmp_path / "file", 1_000_000)
    with pytest.raises(UserError, match=r"file: (File exists|Not a directory)"):
        blocked.write("name", "key", CONTENT)
    assert blocked.read("name", "key") is None
    if os.geteuid():  # root may write anywhere
        store.write("name", "key", CONTENT)
        store.folder.chmod(0o555)
        assert store.read("name", "key") == CONTENT
        with pytest.raises(UserError):
            store.write("name", "key", CONTENT)
        store.folder.chmod(0o755)


def test_concurrent_writers_and_readers(store: JsonStore) -> None:
    contents = [[number] * 20_000 for number in range(4)]
    wrong: list[object] = []

    def work(content: object) -> None:
        for _ in range(10):
            store.write("name", "key", content)
            if (found := store.read("name", "key")) not in contents:
                wrong.append(found)

    threads = [threading.Thread(target=work, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert [file.name for file in store.folder.iterdir()] == [f"name{SUFFIX}"]
