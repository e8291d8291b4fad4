"""What is in a safetensors file, by its header alone; and every broken one in its own words."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from bertviewer.core.checkpoints.header import header_bytes, parse_header, read_header
from bertviewer.core.util.errors import NOT_REGULAR, UserError
from tests.core.checkpoints.bad_safetensors import BAD_SAFETENSORS, GOOD, BadFile, packed


@pytest.mark.parametrize("bad", BAD_SAFETENSORS, ids=lambda bad: bad.name)
def test_every_broken_file_in_its_own_words(bad: BadFile, tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(bad.content)
    with pytest.raises(UserError) as raised:
        read_header(file)
    assert str(raised.value) == f"{file}: {bad.message}"


def test_what_a_library_wrote_is_read_back(tmp_path: Path) -> None:
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


def test_the_order_is_that_of_the_bytes() -> None:
    second = {"dtype": "U8", "shape": [3], "data_offsets": [2, 5]}
    first = {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}
    content = packed({"z": second, "y": first}, b"12345")
    tensors = parse_header(content, Path("x"), len(content))
    assert [tensor.name for tensor in tensors] == ["y", "z"]


def test_the_header_is_enough() -> None:
    file = Path("model.safetensors")
    length = header_bytes(GOOD[:8], file)
    assert length == len(GOOD) - 16
    (tensor,) = parse_header(GOOD[:length], file, len(GOOD))
    assert (tensor.name, tensor.offset, tensor.nbytes) == ("a", length, 16)
    with pytest.raises(UserError, match="truncated"):
        parse_header(GOOD[: length - 1], file, len(GOOD))


def test_what_is_no_regular_file(tmp_path: Path) -> None:
    fifo = tmp_path / "model.safetensors"
    os.mkfifo(fifo)
    with pytest.raises(UserError, match=NOT_REGULAR):
        read_header(fifo)
    with pytest.raises(UserError, match=NOT_REGULAR):
        read_header(tmp_path)
    with pytest.raises(UserError, match="No such file"):
        read_header(tmp_path / "absent.safetensors")
