"""Headers of safetensors files: valid ones are read, each kind of invalid one has its message."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from bertviewer.core.checkpoints.header import header_bytes, parse_header, read_header
from bertviewer.core.util.errors import NOT_REGULAR, UserError
from tests.core.checkpoints.safetensors_files import F32, GOOD, LFS, packed
from tests.tools.refusals import refusals


def entry(**changes: Any) -> bytes:
    """Return a file with a tensor of four floats, whose entry is changed."""
    return packed({"a": {**F32, **changes}})


INVALID = {
    # Other kinds of files.
    "empty": b"",
    "one byte": b"\x08",
    "LFS pointer": LFS,
    "HTML": b"\n <!DOCTYPE html>\n<html><body>Not found</body></html>",
    "HTML after a byte order mark": b"\xef\xbb\xbf<html></html>",
    "XML": b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>',
    "zip": b"PK\x03\x04\x00\x00\x08\x08" + b"\0" * 40,
    "pickle of protocol 2": b"\x80\x02}q\x00X\x01\x00\x00\x00aq\x01K\x01s.",
    "pickle of protocol 4": b"\x80\x04\x95\x10\0\0\0\0\0\0\0}\x94\x8c\x01a\x94K\x01s.",
    "HDF5": b"\x89HDF\r\n\x1a\n" + b"\0" * 40,
    "GGUF": b"GGUF\x03\0\0\0" + b"\xff" * 40,
    "gzip": b"\x1f\x8b\x08\x08abcdefgh",
    "JSON": b'{"error": "Repository not found"}',
    "text": b"these are not the weights that you are looking for",
    # Headers of another length.
    "header of 2^64 - 1 bytes": b"\xff" * 8 + b"{}",
    "header over the limit": (30_000_001).to_bytes(8, "little") + b"{}",
    "header of a byte": packed(b"{", b""),
    "truncated in the header": GOOD[:40],
    "truncated in the data": GOOD[:-4],
    "trailing bytes": GOOD + b"xyz",
    "a trailing byte": GOOD + b"x",
    # Headers of other JSON.
    "a list": packed(b'[{"a": 1}]'),
    "not JSON": packed(b'{"a": }'),
    "not UTF-8": packed(b'{"\xff": 1}'),
    "a huge number": packed(b'{"a": ' + b"9" * 10_000 + b"}"),
    "deep nesting": packed(b'{"a": ' + b"[" * 200_000),
    "a name twice": packed(b'{"a": {"data_offsets": [0, 0]}, "a": {"data_offsets": [0, 0]}}'),
    "only metadata": packed({"__metadata__": {}}),
    "metadata of numbers": packed({"__metadata__": {"a": 1}, "a": F32}),
    "too many tensors": packed(b"{" + b'"data_offsets"' * 200_001),
    "an unprintable name": packed(b'{"\\u001b[31m": {}}'),
    "a lone surrogate": packed(b'{"\\ud800": {}}'),
    "a long name": packed({"x" * 5_000: F32}),
    # Invalid tensors.
    "a number as a tensor": packed({"a": 1}),
    "no dtype": packed({"a": {"shape": [4], "data_offsets": [0, 16]}}),
    "an unknown dtype": entry(dtype="f32"),
    "half a byte": entry(dtype="F4", shape=[3]),
    "too few bytes for 6 bits": entry(dtype="F6_E2M3", shape=[32]),
    "a negative shape": entry(shape=[-2, -2]),
    "a boolean shape": entry(shape=[True, 4]),
    "65 dimensions": entry(shape=[1] * 65),
    "a large shape": entry(shape=[2, 3]),
    "a shape past 64 bits": entry(shape=[2**32, 2**30, 4]),
    "three offsets": entry(data_offsets=[0, 8, 16]),
    "a negative offset": entry(data_offsets=[-16, 0]),
    "reversed offsets": entry(data_offsets=[16, 0]),
    "offsets past the end": entry(shape=[4, 2], data_offsets=[0, 32]),
    "a gap at the start": packed({"a": {**F32, "data_offsets": [16, 32]}}, b"\0" * 32),
    "a gap": packed({"a": F32, "b": {**F32, "data_offsets": [20, 36]}}, b"\0" * 36),
    "an overlap": packed({"a": F32, "b": {**F32, "data_offsets": [8, 24]}}, b"\0" * 24),
}


def test_every_kind_of_invalid_file_has_its_message(
    tmp_path: Path, golden: Callable[[str, str], None]
) -> None:
    file = tmp_path / "model.safetensors"

    def read(content: bytes) -> object:
        file.write_bytes(content)
        return read_header(file)

    golden("refusals/safetensors.txt", refusals(read, INVALID, tmp_path))


def test_a_file_written_by_safetensors_is_read(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    written = {
        "half": torch.arange(6, dtype=torch.float16).reshape(2, 3),
        "scalar": torch.tensor(2.5),
        "empty": torch.empty(0, 4),
        "名": torch.tensor([1, 2, 3], dtype=torch.int64),
    }
    save_file(written, file, {"format": "pt"})
    found = {tensor.name: tensor for tensor in read_header(file)}
    assert {name: t.dtype for name, t in found.items()} == {
        "half": "F16", "scalar": "F32", "empty": "F32", "名": "I64",
    }  # fmt: skip
    content = file.read_bytes()
    for name, tensor in found.items():
        assert tensor.shape == tuple(written[name].shape)
        values = content[tensor.offset : tensor.offset + tensor.nbytes]
        assert values == np.ascontiguousarray(written[name].numpy()).tobytes()


def test_tensors_are_in_the_order_of_their_bytes() -> None:
    second = {"dtype": "U8", "shape": [3], "data_offsets": [2, 5]}
    first = {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}
    content = packed({"z": second, "y": first}, b"12345")
    tensors = parse_header(content, Path("x"), len(content))
    assert [tensor.name for tensor in tensors] == ["y", "z"]


def test_a_header_can_be_parsed_without_the_data() -> None:
    file = Path("model.safetensors")
    length = header_bytes(GOOD[:8], file)
    assert length == len(GOOD) - 16
    (tensor,) = parse_header(GOOD[:length], file, len(GOOD))
    assert (tensor.name, tensor.offset, tensor.nbytes) == ("a", length, 16)
    with pytest.raises(UserError, match="truncated"):
        parse_header(GOOD[: length - 1], file, len(GOOD))


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "model.safetensors")
    for path in (tmp_path / "model.safetensors", tmp_path):
        with pytest.raises(UserError, match=NOT_REGULAR):
            read_header(path)
    with pytest.raises(UserError, match="No such file"):
        read_header(tmp_path / "absent.safetensors")
