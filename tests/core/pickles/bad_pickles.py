"""Files of pickled weights that must be refused before torch sees them, one way each."""

import io
import os
import pickle
import shutil
import struct
import tarfile
import zipfile
from collections.abc import Callable
from typing import Any

from tests.core.checkpoints.bad_safetensors import GOOD as GOOD_SAFETENSORS
from tests.core.checkpoints.bad_safetensors import LFS, BadFile


class Call:
    """An object whose pickle, when it is read, calls a function."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._call = function, arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self._call


def program(thing: Any, protocol: int = 2) -> bytes:
    """Return the pickle of ``thing``."""
    return pickle.dumps(thing, protocol)


def zipped(
    *entries: tuple[str, bytes], compression: int = zipfile.ZIP_STORED, comment: bytes = b""
) -> bytes:
    """Return a zip of these entries, stored as they are like torch's."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in entries:
            archive.writestr(name, content)
        archive.comment = comment
    return out.getvalue()


def saved(thing: Any, protocol: int = 2) -> bytes:
    """Return the zip that torch would make of ``thing`` if that has no tensors."""
    return zipped(("archive/data.pkl", program(thing, protocol)), ("archive/version", b"3\n"))


def first_format(thing: Any) -> bytes:
    """Return the beginning of a file of torch's first format."""
    magic = 0x1950A86A20F9469CFC6C
    return b"".join(map(program, (magic, 1001, {"little_endian": True}, thing, [])))


def _tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name in ("sys_info", "pickle", "storages"):
            archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    return out.getvalue()


def _liar() -> bytes:
    """Return a zip whose directory says that a part is larger than the file."""
    content = bytearray(saved({}))
    entry = content.rindex(b"PK\x01\x02")
    struct.pack_into("<II", content, entry + 20, 10**9, 10**9)
    return bytes(content)


def _encrypted() -> bytes:
    content = bytearray(saved({}))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + offset] |= 1
    return bytes(content)


def _twice() -> bytes:
    """Return a zip with two programs under one name: two readers may see two different ones."""
    content = zipped(("archive/data.pkl", program({})), ("archive/data.pk2", program({"a": 1})))
    return content.replace(b"archive/data.pk2", b"archive/data.pkl")


SYSTEM = Call(os.system, "exit 0")
GOOD = saved({"step": 1})

_POINTER = "a Git LFS pointer instead of the weights ('git lfs pull' fetches them)"
_PAGE = "a web page instead of weights: the download failed"
_DAMAGED = "truncated or corrupt"
_PACKED = "its entries are compressed or encrypted, which torch never does"
_NO_WEIGHTS = "a zip file, but not one in which torch saved weights"
_SYSTEM = "refused: it asks for posix.system, which tensors never need"
_WIDE = "refused: its pickle has opcodes that torch never writes ({})"

BAD_PICKLES = (
    BadFile("empty", b"", "the file is empty"),
    BadFile("LFS pointer", LFS, _POINTER),
    BadFile("HTML", b"<!DOCTYPE html>\n<html><body>Not found</body></html>", _PAGE),
    BadFile("HTML after a byte order mark", b"\xef\xbb\xbf \n<html></html>", _PAGE),
    BadFile("XML", b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', _PAGE),
    BadFile("text", b"weights", "not a file saved by torch"),
    BadFile("zeros", b"\0" * 1000, "not a file saved by torch"),
    BadFile("safetensors", GOOD_SAFETENSORS, "a safetensors file; name it model.safetensors"),
    BadFile("tar", _tar(), "in torch's oldest format (tar), which is not supported"),
    # Zips.
    BadFile("zip cut off", GOOD[:-30], _DAMAGED),
    BadFile("zip of four bytes", b"PK\x03\x04", _DAMAGED),
    BadFile("zip with its middle gone", GOOD[:60] + GOOD[90:], _DAMAGED),
    BadFile("zip of something else", zipped(("a/b.txt", b"hello")), _NO_WEIGHTS),
    BadFile("zip of two folders", zipped(("a/data.pkl", program({})), ("b/x", b"")), _NO_WEIGHTS),
    BadFile("zip without a folder", zipped(("data.pkl", program({}))), _NO_WEIGHTS),
    BadFile(
        "TorchScript", zipped(("a/data.pkl", program({})), ("a/constants.pkl", b"")),
        "a TorchScript program, not only weights",
    ),
    BadFile(
        "zip bomb", zipped(("a/data.pkl", bytes(10**7)), compression=zipfile.ZIP_DEFLATED),
        _PACKED,
    ),
    BadFile("parts larger than the file", _liar(), "its entries claim to be larger than the file"),
    BadFile("two programs under a name", _twice(), "two of its entries have the same name"),
    BadFile(
        "encrypted", _encrypted(), _PACKED,
    ),
    # Pickles that call something.
    BadFile("system", saved({"a": SYSTEM}), _SYSTEM),
    BadFile("system in the first format", first_format({"a": SYSTEM}), _SYSTEM),
    BadFile("system before the first format's magic", program(SYSTEM) + GOOD, _SYSTEM),
    BadFile("system in a plain pickle", program(SYSTEM), _SYSTEM),
    BadFile("system in protocol 3", program(SYSTEM, 3), _SYSTEM),
    BadFile("system in protocol 4", saved({"a": SYSTEM}, 4), _SYSTEM),
    BadFile("system in protocol 5", saved({"a": SYSTEM}, 5), _SYSTEM),
    BadFile("system by its old name", zipped(
        ("archive/data.pkl", b"\x80\x02cposix\nsystem\nU\x04trueR.")), _SYSTEM),
    BadFile(
        "system by INST", zipped(("archive/data.pkl", b"\x80\x02(S'true'\niposix\nsystem\n.")),
        _SYSTEM,
    ),
    BadFile(
        "eval by Python 2's name", zipped(("archive/data.pkl", b"\x80\x02c__builtin__\neval\n.")),
        "refused: it asks for builtins.eval, which tensors never need",
    ),
    BadFile(
        "a name in capitals of a terminal",
        zipped(("archive/data.pkl", b"\x80\x02c\x1b[31mred\nname\n.")),
        "refused: it asks for �[31mred.name, which tensors never need",
    ),
    BadFile(
        "a long name", zipped(("archive/data.pkl", b"\x80\x02c" + b"m" * 500 + b"\nx\n.")),
        f"refused: it asks for {'m' * 80}…, which tensors never need",
    ),
    BadFile(
        "many names", saved([Call(os.system, ""), Call(eval, ""), Call(exec, ""),
                             Call(shutil.rmtree, ""), Call(os.getenv, ""), Call(compile, "")]),
        "refused: it asks for builtins.compile, builtins.eval, builtins.exec, os.getenv and "
        "2 more, which tensors never need",
    ),
    BadFile(
        "a name made up while it runs",
        zipped(("archive/data.pkl", b"\x80\x04\x8c\x02os}\x93.")),
        "refused: it asks for os.?, which tensors never need",
    ),
    BadFile(
        "a name from a registry", zipped(("archive/data.pkl", b"\x80\x02\x82\x01.")),
        _WIDE.format("EXT1"),
    ),
    BadFile("protocol 4", saved({"a": 1}, 4), _WIDE.format("FRAME, MEMOIZE, SHORT_BINUNICODE")),
    BadFile("numbers", program({"a": 1}), "a pickle that was not saved by torch"),
    # Pickles that end too early, or are none.
    BadFile(
        "program cut off", zipped(("archive/data.pkl", program({"a": 1})[:-1])),
        _DAMAGED,
    ),
    BadFile(
        "program of zeros", zipped(("archive/data.pkl", bytes(100))),
        _DAMAGED,
    ),
    BadFile(
        "empty program", zipped(("archive/data.pkl", b"")),
        _DAMAGED,
    ),
    BadFile(
        "a text that is longer than the file",
        zipped(("archive/data.pkl", b"\x80\x02X\xff\xff\xff\x7fa.")),
        _DAMAGED,
    ),
    BadFile(
        "first format cut off", first_format({"a": 1})[:40],
        _DAMAGED,
    ),
)  # fmt: skip
