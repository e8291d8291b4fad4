"""A folder of small compressed JSON files, each checked when it is read, the oldest thrown away."""

import contextlib
import hashlib
import json
import os
import shutil
import time
import zlib
from pathlib import Path
from typing import Any

from msgspec import Struct

from bertviewer.core.saving.atomic_files import PREFIX, write_atomically
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.files import read_small_file
from bertviewer.core.util.log import write_log
from bertviewer.core.util.serialization import encode_floats, parse

SUFFIX = ".json.z"
MOST_CONTENT = 50_000_000
"""Bytes of JSON; a model of 1,000 layers takes 12 MB. More than that is not kept, nor read."""
ABANDONED = 86_400  # seconds
_DIGEST_BYTES = hashlib.sha256().digest_size


class OddContent(ValueError):
    """A file that is there, and is not what was written."""


class Store(Struct, frozen=True):
    """Files by name in a folder, each kept under the key of all that its content follows from.

    A file is the SHA-256 of the rest, and then ``{"key": …, "content": …}``, compressed.

    Attributes:
        folder: where they lie; it is made with the first of them.
        most_bytes: how large all of them may be together; those not used for longest go first.
            ``None`` for what came with the program, which is only read.
    """

    folder: Path
    most_bytes: int | None

    def read(self, name: str, key: str) -> Any | None:
        """Return what is kept under that name for that key, ``None`` if there is nothing.

        Raises:
            OddContent: a file is there, and it is damaged.
        """
        path = self._path(name)
        try:
            if not path.is_file():
                return None
            raw = read_small_file(path, MOST_CONTENT, "the model cache")
        except (OSError, UserError) as error:  # perhaps for a moment: no reason to throw it away
            write_log(f"not read: {error}")
            return None
        digest, packed = raw[:_DIGEST_BYTES], raw[_DIGEST_BYTES:]
        if hashlib.sha256(packed).digest() != digest:
            raise OddContent(f"{path}: modified by another program")
        try:
            unpacking = zlib.decompressobj()
            text = unpacking.decompress(packed, MOST_CONTENT)
            if not unpacking.eof:
                raise OddContent(f"{path}: too large")
            found = parse(text)
        except (zlib.error, ValueError, RecursionError) as error:
            raise OddContent(f"{path}: {error}") from error
        if not isinstance(found, dict) or found.get("key") != key:
            return None  # of another version, as the file of a preset may be
        if self.most_bytes is not None:
            with contextlib.suppress(OSError):  # a folder that may only be read is never tidied
                os.utime(path)
        return found.get("content")

    def write(self, name: str, key: str, content: Any) -> None:
        """Keep plain data for the next time, in one step.

        Raises:
            UserError: the folder or the disk does not take it, or it has a lone surrogate.
        """
        path = self._path(name)
        plain = {"key": key, "content": encode_floats(content)}
        try:
            text = json.dumps(plain, separators=(",", ":"), ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise UserError(f"{path}: not valid Unicode") from error
        if len(text) > MOST_CONTENT:
            raise UserError(f"{path}: too large to cache")
        packed = zlib.compress(text)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            _clear(path)
        except OSError as error:
            raise UserError(f"{self.folder}: {error.strerror or error}") from error
        write_atomically(path, hashlib.sha256(packed).digest() + packed)
        if self.most_bytes is not None:
            self._tidy(self.most_bytes)

    def remove(self, name: str) -> None:
        """Throw a file away; that it cannot be is noted in the log."""
        if self.most_bytes is None:
            return
        try:
            self._path(name).unlink(missing_ok=True)
        except OSError as error:
            write_log(f"cannot remove {self._path(name)}: {error}")

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}{SUFFIX}"

    def _tidy(self, most_bytes: int) -> None:
        """Remove the files not used for longest until the rest are small enough together."""
        total = 0
        try:
            for path in self.folder.glob(f"{PREFIX}*"):  # left by a program that was ended
                if time.time() - path.stat().st_mtime > ABANDONED:
                    path.unlink(missing_ok=True)
            states = [(path, path.stat()) for path in self.folder.glob(f"*{SUFFIX}")]
            for path, state in sorted(states, key=lambda entry: -entry[1].st_mtime):
                total += state.st_size
                if total > most_bytes:
                    path.unlink(missing_ok=True)
        except OSError as error:  # another window may tidy at the same time
            write_log(f"{self.folder}: not cleaned up: {error}")


def _clear(path: Path) -> None:
    """Remove what stands in a file's place and is none: a link would be followed by what writes."""
    if path.is_symlink() or (path.exists() and not path.is_file() and not path.is_dir()):
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
