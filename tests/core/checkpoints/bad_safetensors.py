"""Files that no library may see: safetensors files and indexes that are broken, one way each."""

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

F32 = {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}


class BadFile(Struct, frozen=True):
    """A content, and what must be said of it after the file's name."""

    name: str
    content: bytes
    message: str


def packed(header: bytes | Mapping[str, Any], data: bytes = b"\0" * 16) -> bytes:
    """Return a file with that header, JSON or not, and its right length."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(**changes: Any) -> bytes:
    """Return a file with one tensor of four floats, after these changes."""
    return packed({"a": {key: v for key, v in {**F32, **changes}.items() if v is not ...}})


GOOD = packed({"__metadata__": {"format": "pt"}, "a": F32})
LFS = (
    b"version https://git-lfs.github.com/spec/v1\n"
    b"oid sha256:53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db\n"
    b"size 90864192\n"
)
_POINTER = "a Git LFS pointer instead of the weights ('git lfs pull' fetches them)"
_PAGE = "a web page instead of weights: the download failed"
_HUGE = "not a safetensors file: its header would be {} bytes long, more than in any real file"

BAD_SAFETENSORS = (
    # What is no safetensors file at all.
    BadFile("empty", b"", "the file is empty"),
    BadFile("one byte", b"\x08", "only 1 byte, too short for weights"),
    BadFile("seven bytes", b"\x08" + b"\0" * 6, "only 7 bytes, too short for weights"),
    BadFile("LFS pointer", LFS, _POINTER),
    BadFile("HTML", b"<!DOCTYPE html>\n<html><body>Not found</body></html>", _PAGE),
    BadFile("HTML in small letters", b"\n <!doctype html><html></html>", _PAGE),
    BadFile("HTML without a doctype", b"<html lang=en><head></head></html>", _PAGE),
    BadFile("HTML after a byte order mark", b"\xef\xbb\xbf<html></html>", _PAGE),
    BadFile(
        "XML",
        b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>',
        "an XML document instead of weights: the download failed",
    ),
    BadFile(
        "zip",
        b"PK\x03\x04\x00\x00\x08\x08" + b"\0" * 40,
        "a zip archive such as a PyTorch pickle, not a safetensors file",
    ),
    BadFile(
        "pickle", b"\x80\x02}q\x00X\x01\x00\x00\x00aq\x01K\x01s.",
        "a Python pickle, not a safetensors file",
    ),
    BadFile(
        "newer pickle", b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x01a\x94K\x01s.",
        "a Python pickle, not a safetensors file",
    ),
    BadFile(
        "HDF5", b"\x89HDF\r\n\x1a\n" + b"\0" * 40,
        "an HDF5 file (as written by TensorFlow), not a safetensors file",
    ),
    BadFile("GGUF", b"GGUF\x03\0\0\0" + b"\xff" * 40, "a GGUF file, not a safetensors file"),
    BadFile("gzip", b"\x1f\x8b\x08\x08abcdefgh", "compressed (gzip); decompress it first"),
    BadFile("JSON", b'{"error": "Repository not found"}', "JSON text, not a safetensors file"),
    BadFile(
        "plain text", b"these are not the weights that you are looking for",
        _HUGE.format(f"{0x72612065_73656874:,}"),
    ),
    BadFile("header length 2^63", b"\0" * 7 + b"\x80{}", _HUGE.format(f"{2**63:,}")),
    BadFile("header length 2^64 - 1", b"\xff" * 8 + b"{}", _HUGE.format(f"{2**64 - 1:,}")),
    BadFile(
        "header over the cap", (30_000_001).to_bytes(8, "little") + b"{}",
        _HUGE.format("30,000,001"),
    ),
    BadFile("no header", b"\0" * 8, "not a safetensors file: its header is empty"),
    BadFile(
        "header of a byte", packed(b"{", b""), "not a safetensors file: its header is empty"
    ),
    # What is cut off, or too long.
    BadFile(
        "cut off in the header", GOOD[:40],
        f"truncated: the header takes {len(GOOD) - 16} bytes, but the file has only 40",
    ),
    BadFile(
        "cut off in the data", GOOD[:-4],
        f"truncated: its tensors end at byte {len(GOOD)}, but the file has only {len(GOOD) - 4}",
    ),
    BadFile("trailing bytes", GOOD + b"xyz", "3 bytes after its last tensor belong to none"),
    BadFile("a trailing byte", GOOD + b"x", "1 byte after its last tensor belongs to none"),
    # Headers that are no JSON, or not of that kind.
    BadFile("a list", packed(b'[{"a": 1}]'),
            "not a safetensors file: its header is not a JSON object"),
    BadFile("a byte order mark", packed(b"\xef\xbb\xbf{}"),
            "not a safetensors file: its header is not a JSON object"),
    BadFile("not JSON", packed(b'{"a": }'),
            "bad header: JSON is malformed: invalid character (byte 6)"),
    BadFile("JSON and more", packed(b"{} {}"),
            "bad header: JSON is malformed: trailing characters (byte 4)"),
    BadFile("not UTF-8", packed(b'{"\xff": 1}'),
            "bad header: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
    BadFile("NaN", packed(b'{"a": NaN}'),
            "bad header: JSON is malformed: invalid character (byte 6)"),
    BadFile("a huge number", packed(b'{"a": ' + b"9" * 10_000 + b"}"),
            "bad header: 'a' is not valid: Number out of range"),
    BadFile("nested deeply", packed(b'{"a": ' + b"[" * 200_000), "bad header: nested too deeply"),
    BadFile("the same name twice",
            packed(b'{"a": {"data_offsets": [0, 0]}, "a": {"data_offsets": [0, 0]}}'),
            "bad header: a name appears twice"),
    BadFile("no tensors", packed({}), "it contains no tensors"),
    BadFile("nothing but metadata", packed({"__metadata__": {}}), "it contains no tensors"),
    BadFile("metadata of numbers", packed({"__metadata__": {"a": 1}, "a": F32}),
            "bad header: __metadata__ is not an object of strings"),
    BadFile("metadata as a list", packed({"__metadata__": [], "a": F32}),
            "bad header: __metadata__ is not an object of strings"),
    # Tensors that are described badly.
    BadFile("a tensor as a number", packed({"a": 1}),
            "bad header: 'a' is not valid: Expected `object`, got `int`"),
    BadFile(
        "a name that colours a terminal", packed(b'{"\\u001b[31m": {}}'),
        r"bad header: '\x1b[31m' is a name with unprintable characters",
    ),
    BadFile(
        "more tensors than any", packed(b"{" + b'"data_offsets"' * 200_001),
        "it holds 200,001 tensors, more than any real file",
    ),
    BadFile("a lone surrogate", packed(b'{"\\ud800": {}}'),
            "bad header: JSON is malformed: unexpected end of escaped utf-16 surrogate pair "
            "(byte 8)"),
    BadFile("a long name", packed({"x" * 5_000: F32}),
            f"bad header: '{'x' * 79}…' is a name of 5,000 characters"),
    BadFile("no dtype", entry(dtype=...),
            "bad header: 'a' is not valid: Object missing required field `dtype`"),
    BadFile("an unknown dtype", entry(dtype="F31"), "bad header: 'a' has the unknown dtype 'F31'"),
    BadFile("a dtype in small letters", entry(dtype="f32"),
            "bad header: 'a' has the unknown dtype 'f32'"),
    BadFile("elements that fill no whole byte", entry(dtype="F4", shape=[3]),
            "bad header: 'a' does not fill whole bytes: F4 of the shape [3]"),
    BadFile("elements of 6 bits and too few bytes", entry(dtype="F6_E2M3", shape=[32]),
            "bad header: 'a' takes 16 bytes, but F6_E2M3 of the shape [32] needs 24"),
    BadFile("a negative shape", entry(shape=[-2, -2]),
            "bad header: 'a' is not valid: Expected `int` >= 0 - at `$.shape[0]`"),
    BadFile("a shape of truths", entry(shape=[True, 4]),
            "bad header: 'a' is not valid: Expected `int`, got `bool` - at `$.shape[0]`"),
    BadFile("65 dimensions", entry(shape=[1] * 65), "bad header: 'a' has 65 dimensions"),
    BadFile("a shape too large", entry(shape=[2, 3]),
            "bad header: 'a' takes 16 bytes, but F32 of the shape [2, 3] needs 24"),
    BadFile("a shape past 64 bits", entry(shape=[2**32, 2**30, 4]),
            "bad header: 'a' takes 16 bytes, but F32 of the shape [4294967296, 1073741824, 4] "
            "needs far more"),
    BadFile("no offsets", entry(data_offsets=...),
            "bad header: 'a' is not valid: Object missing required field `data_offsets`"),
    BadFile("three offsets", entry(data_offsets=[0, 8, 16]),
            "bad header: 'a' is not valid: Expected `array` of length 2 - at `$.data_offsets`"),
    BadFile("negative offsets", entry(data_offsets=[-16, 0]),
            "bad header: 'a' is not valid: Expected `int` >= 0 - at `$.data_offsets[0]`"),
    BadFile("offsets turned round", entry(data_offsets=[16, 0]),
            "bad header: 'a' ends at byte 0, before it begins at 16"),
    BadFile("offsets past the end", entry(shape=[4, 2], data_offsets=[0, 32]),
            "truncated: its tensors end at byte 105, but the file has only 89"),
    BadFile("a hole at the start", packed({"a": {**F32, "data_offsets": [16, 32]}}, b"\0" * 32),
            "bad header: 16 bytes before 'a' belong to no tensor"),
    BadFile("a hole between two",
            packed({"a": F32, "b": {**F32, "data_offsets": [20, 36]}}, b"\0" * 36),
            "bad header: 4 bytes before 'b' belong to no tensor"),
    BadFile("an overlap", packed({"a": F32, "b": {**F32, "data_offsets": [8, 24]}}, b"\0" * 24),
            "bad header: 'b' overlaps the tensor before it"),
    BadFile("the same bytes twice", packed({"a": F32, "b": F32}),
            "bad header: 'b' overlaps the tensor before it"),
)  # fmt: skip
"""One file ``model.safetensors`` each."""


def index(weight_map: Any, **more: Any) -> bytes:
    """Return an index that says which file holds which tensor."""
    return json.dumps({"metadata": {"total_size": 16}, "weight_map": weight_map, **more}).encode()


BAD_INDEXES = (
    BadFile("empty", b"", "bad index: not valid JSON: Input data was truncated"),
    BadFile("a list", b"[]", "bad index: Expected `object`, got `array`"),
    BadFile("null", b"null", "bad index: Expected `object`, got `null`"),
    BadFile("no weight_map", b"{}", "bad index: Object missing required field `weight_map`"),
    BadFile("an empty weight_map", index({}),
            "bad index: Expected `object` of length >= 1 - at `$.weight_map`"),
    BadFile("LFS pointer", LFS,
            "bad index: not valid JSON: JSON is malformed: invalid character (byte 0)"),
    BadFile("not UTF-8", b'{"\xff": 1}',
            "bad index: not valid JSON: 'utf-8' codec can't decode byte 0xff in position 0: "
            "invalid start byte"),
    BadFile("nested deeply", b"[" * 200_000, "bad index: nested too deeply"),
    BadFile("a file as a number", index({"a": 1}),
            "bad index: Expected `str`, got `int` - at `$.weight_map[...]`"),
    BadFile("a folder above", index({"a": "../model.safetensors"}),
            "bad index: '../model.safetensors' is not the name of a file in the same folder"),
    BadFile("a folder below", index({"a": "other/model.safetensors"}),
            "bad index: 'other/model.safetensors' is not the name of a file in the same folder"),
    BadFile("an absolute path", index({"a": "/etc/passwd"}),
            "bad index: '/etc/passwd' is not the name of a file in the same folder"),
    BadFile("a path of Windows", index({"a": r"..\model.safetensors"}),
            r"bad index: '..\\model.safetensors' is not the name of a file in the same folder"),
    BadFile("a drive of Windows", index({"a": "C:model.safetensors"}),
            "bad index: 'C:model.safetensors' is not the name of a file in the same folder"),
    BadFile("the folder itself", index({"a": ".."}),
            "bad index: '..' is not the name of a file in the same folder"),
    BadFile("no name", index({"a": ""}),
            "bad index: '' is not the name of a file in the same folder"),
    BadFile("a NUL", index({"a": "x\0.safetensors"}),
            r"bad index: 'x\x00.safetensors' is not the name of a file in the same folder"),
    BadFile("a pickle", index({"a": "pytorch_model.bin"}),
            "bad index: 'pytorch_model.bin' is not a .safetensors file"),
    BadFile("a missing file", index({"a": "absent.safetensors"}),
            "it names 'absent.safetensors', which does not exist"),
    BadFile("a tensor that is not there", index({"a": "good.safetensors", "b": "good.safetensors"}),
            "it says that 'b' is in good.safetensors, but it is not"),
    BadFile("a tensor in another file", index({"a": "good.safetensors", "b": "good.safetensors",
                                               "c": "other.safetensors"}),
            "it says that 'b' is in good.safetensors, but it is in other.safetensors"),
)  # fmt: skip
"""One file ``model.safetensors.index.json`` each.

Beside it ``good.safetensors`` holds a tensor ``a``, and ``other.safetensors`` ``b`` and ``c``.
"""
