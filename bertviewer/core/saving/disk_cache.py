"""Caches on disk: small compressed JSON files, and least-recently-used (LRU) eviction."""

import contextlib
import hashlib
import json
import os
import shutil
import time
import zlib
from pathlib import Path
from typing import Any

from msgspec import Struct, ValidationError
from platformdirs import user_cache_path

from bertviewer.core.saving.atomic_files import PREFIX, write_atomically
from bertviewer.core.util.errors import UserError, error_reason
from bertviewer.core.util.files import read_small_file
from bertviewer.core.util.log import write_log
from bertviewer.core.util.serialization import encode_floats, parse

SUFFIX = ".json.z"
MAX_CONTENT = 50_000_000
"""Bytes of JSON in one file; a model of 1,000 layers takes 12 MB."""
ABANDONED = 86_400
"""Seconds after which a temporary file was left by a process that was killed."""
_DIGEST_BYTES = hashlib.sha256().digest_size


def cache_folder(kind: str) -> Path:
    """Return the folder of one kind of data in the user's cache."""
    return user_cache_path("bertviewer", appauthor=False) / kind


def mark_used(path: Path) -> None:
    """Set the time of an entry's last use. Ignored in a read-only cache, which nothing evicts."""
    with contextlib.suppress(OSError):
        os.utime(path)


def evict(folder: Path, max_bytes: int, keep: Path | None = None) -> None:
    """Remove the least recently used files or folders until the rest fits; failures are logged.

    Temporary entries are removed when they are abandoned.

    Args:
        folder: the cache.
        max_bytes: for all entries together.
        keep: an entry that is never removed.
    """
    total, now = 0, time.time()
    try:
        used = {path: path.lstat().st_mtime for path in folder.iterdir()}
        for path in sorted(used, key=lambda path: -used[path]):
            if path.name.startswith(PREFIX):
                if now - used[path] > ABANDONED:
                    _remove(path)
                continue
            files = path.rglob("*") if path.is_dir() else (path,)
            total += sum(file.stat().st_size for file in files if file.is_file())
            if total > max_bytes and path != keep:
                _remove(path)
    except OSError as error:  # another process may do the same
        write_log(f"{folder}: not cleaned up: {error}")


class JsonStore(Struct, frozen=True):
    """Plain data in files, by name, each valid for one key: a hash of all that it depends on.

    A file is the SHA-256 of the rest, then ``{"key": …, "content": …}`` as compressed JSON.

    Attributes:
        folder: created with the first file.
        max_bytes: for all files together, see ``evict``; ``None`` for a read-only folder.
    """

    folder: Path
    max_bytes: int | None

    def read(self, name: str, key: str) -> Any | None:
        """Return the content of a file, ``None`` if there is none for that key.

        Raises:
            ValueError: the file is damaged.
        """
        path = self._path(name)
        try:
            if not path.is_file():
                return None
            raw = read_small_file(path, MAX_CONTENT, "the model cache")
        except (OSError, UserError) as error:  # perhaps temporary: keep the file
            write_log(f"not read: {error}")
            return None
        digest, packed = raw[:_DIGEST_BYTES], raw[_DIGEST_BYTES:]
        if hashlib.sha256(packed).digest() != digest:
            raise ValidationError(f"{path}: modified by another program")
        try:
            decompressor = zlib.decompressobj()
            text = decompressor.decompress(packed, MAX_CONTENT)
            if not decompressor.eof:
                raise ValidationError("too large")
            found = parse(text)
        except (zlib.error, ValueError, RecursionError) as error:
            raise ValidationError(f"{path}: {error}") from error
        if not isinstance(found, dict) or found.get("key") != key:
            return None  # of another version, as a preset's file may be
        if self.max_bytes is not None:
            mark_used(path)
        return found.get("content")

    def write(self, name: str, key: str, content: Any) -> None:
        """Write plain data atomically.

        Raises:
            UserError: the disk refuses it, or it is too large or contains a lone surrogate.
        """
        path = self._path(name)
        plain = {"key": key, "content": encode_floats(content)}
        try:
            text = json.dumps(plain, separators=(",", ":"), ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise UserError(f"{path}: not valid Unicode") from error
        if len(text) > MAX_CONTENT:
            raise UserError(f"{path}: too large to cache")
        packed = zlib.compress(text)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if path.is_symlink() or (path.exists() and not path.is_file()):
                _remove(path)  # a link would be followed when the file is written
        except OSError as error:
            raise UserError(f"{self.folder}: {error_reason(error)}") from error
        write_atomically(path, hashlib.sha256(packed).digest() + packed)
        if self.max_bytes is not None:
            evict(self.folder, self.max_bytes)

    def remove(self, name: str) -> None:
        """Remove a file; a failure is logged."""
        if self.max_bytes is None:
            return
        try:
            self._path(name).unlink(missing_ok=True)
        except OSError as error:
            write_log(f"cannot remove {self._path(name)}: {error}")

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}{SUFFIX}"


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
