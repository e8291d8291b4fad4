"""Files of pickled weights that must be refused before torch reads them."""

import io
import os
import pickle
import shutil
import struct
import tarfile
import zipfile
from collections.abc import Callable
from typing import Any

from tests.core.checkpoints.safetensors_files import GOOD as SAFETENSORS
from tests.core.checkpoints.safetensors_files import LFS


class Call:
    """An object whose pickle calls a function when it is loaded."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._call = function, arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self._call


SYSTEM = Call(os.system, "exit 0")


def zipped(
    *entries: tuple[str, bytes], compression: int = zipfile.ZIP_STORED, comment: bytes = b""
) -> bytes:
    """Return a zip file of these entries."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in entries:
            archive.writestr(name, content)
        archive.comment = comment
    return out.getvalue()


def program(content: bytes) -> bytes:
    """Return a file in torch's format with this pickle."""
    return zipped(("archive/data.pkl", content))


def saved(obj: Any, protocol: int = 2) -> bytes:
    """Return a file in torch's format with the pickle of an object without tensors."""
    return program(pickle.dumps(obj, protocol))


def saved_before_1_6(obj: Any) -> bytes:
    """Return the beginning of a file in the format before torch 1.6."""
    parts: tuple[object, ...] = (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}, obj, [])
    return b"".join(pickle.dumps(part, 2) for part in parts)


def _tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name in ("sys_info", "pickle", "storages"):
            archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    return out.getvalue()


def _with_wrong_sizes() -> bytes:
    """Return a zip file whose directory has sizes beyond the file."""
    content = bytearray(saved({}))
    entry = content.rindex(b"PK\x01\x02")
    struct.pack_into("<II", content, entry + 20, 10**9, 10**9)
    return bytes(content)


def _encrypted() -> bytes:
    content = bytearray(saved({}))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + offset] |= 1
    return bytes(content)


def _with_two_programs() -> bytes:
    """Return a zip file with two pickles of one name, of which readers may see another one."""
    entries = (("archive/data.pkl", b"\x80\x02}."), ("archive/data.pk2", b"\x80\x02]."))
    return zipped(*entries).replace(b"archive/data.pk2", b"archive/data.pkl")


GOOD = saved({"step": 1})
CALLS = (Call(os.system, ""), Call(eval, ""), Call(exec, ""), Call(shutil.rmtree, ""),
         Call(os.getenv, ""), Call(compile, ""))  # fmt: skip

BAD_PICKLES = {
    # Other kinds of files.
    "empty": b"",
    "LFS pointer": LFS,
    "HTML": b"<!DOCTYPE html>\n<html><body>Not found</body></html>",
    "HTML after a byte order mark": b"\xef\xbb\xbf \n<html></html>",
    "XML": b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>',
    "text": b"weights",
    "safetensors": SAFETENSORS,
    "tar": _tar(),
    # Zip files.
    "truncated zip": GOOD[:-30],
    "zip of four bytes": b"PK\x03\x04",
    "zip without its middle": GOOD[:60] + GOOD[90:],
    "zip of other files": zipped(("a/b.txt", b"hello")),
    "zip of two folders": zipped(("a/data.pkl", b"\x80\x02}."), ("b/x", b"")),
    "zip without a folder": zipped(("data.pkl", b"\x80\x02}.")),
    "TorchScript": zipped(("a/data.pkl", b"\x80\x02}."), ("a/constants.pkl", b"")),
    "zip bomb": zipped(("a/data.pkl", bytes(10**7)), compression=zipfile.ZIP_DEFLATED),
    "wrong sizes": _with_wrong_sizes(),
    "two programs of one name": _with_two_programs(),
    "encrypted": _encrypted(),
    # Pickles that call functions.
    "a call": saved({"a": SYSTEM}),
    "a call, before torch 1.6": saved_before_1_6({"a": SYSTEM}),
    "a call before torch's magic number": pickle.dumps(SYSTEM, 2) + GOOD,
    "a call in a plain pickle": pickle.dumps(SYSTEM, 3),
    "a call, protocol 4": saved({"a": SYSTEM}, 4),
    "a call, protocol 5": saved({"a": SYSTEM}, 5),
    "a call by INST": program(b"\x80\x02(S'true'\niposix\nsystem\n."),
    "a name of Python 2": program(b"\x80\x02c__builtin__\neval\n."),
    "an unprintable name": program(b"\x80\x02c\x1b[31mred\nname\n."),
    "a long name": program(b"\x80\x02c" + b"m" * 500 + b"\nx\n."),
    "many names": saved(list(CALLS)),
    "a name from the memo": program(
        b"\x80\x04\x8c\x05posix\x94\x8c\x06system\x94\x30\x30h\0h\1\x93."
    ),
    "a computed name": program(b"\x80\x04\x8c\x02os}\x93."),
    "a name from a registry": program(b"\x80\x02\x82\x01."),
    "protocol 4": saved({"a": 1}, 4),
    "not by torch": pickle.dumps({"a": 1}, 2),
    # Invalid pickles.
    "truncated program": program(pickle.dumps({"a": 1}, 2)[:-1]),
    "program of zeros": program(bytes(100)),
    "empty program": program(b""),
    "a text beyond the end": program(b"\x80\x02X\xff\xff\xff\x7fa."),
    "truncated, before torch 1.6": saved_before_1_6({"a": 1})[:40],
}
"""Contents by what is wrong with them."""
