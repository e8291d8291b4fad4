"""Conversion of a pickle to safetensors, as the helper process does it."""

import os
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from bertviewer.core.pickles.worker import convert
from bertviewer.core.util.errors import UserError
from tests.core.pickles.bad_pickles import Call
from tests.core.pickles.conftest import Tensors, assert_equal, some_tensors

WITHOUT_TENSORS: tuple[Any, ...] = (torch.ones(3), {"step": 1}, [], None)
HALVES = {"net": {"a": torch.ones(2)}, "ema": {"a": torch.ones(2)}}


def converted(value: Any, file: Path, out: Path) -> Tensors:
    torch.save(value, file)
    convert(str(file), str(out / "x"))
    return load_file(out / "x")


def refusal(value: Any, file: Path, out: Path) -> str:
    with pytest.raises(UserError) as raised:
        converted(value, file, out)
    return str(raised.value)


@pytest.mark.parametrize("is_zip", [True, False])
def test_tensors_are_converted(file: Path, out: Path, is_zip: bool) -> None:
    torch.save(some_tensors(), file, _use_new_zipfile_serialization=is_zip)
    convert(str(file), str(out / "x"))
    assert_equal(load_file(out / "x"), some_tensors())


def test_shared_memory_and_strides_are_resolved(file: Path, out: Path) -> None:
    whole = torch.arange(12.0).reshape(3, 4)
    views = {"transposed": whole.T, "part": whole[1:, 2:], "flat": whole.view(12)}
    # Of two names for one tensor the first is kept.
    found = converted({"a": whole, "b": whole, **views}, file, out)
    assert_equal(found, {"a": whole, **views})


@pytest.mark.parametrize(
    "key", ["state_dict", "model_state_dict", "model", "module", "ema_weights"]
)
def test_the_weights_in_a_training_checkpoint_are_found(file: Path, out: Path, key: str) -> None:
    weights = OrderedDict(a=torch.ones(2), b=torch.nn.Parameter(torch.zeros(3)))
    found = converted({"epoch": 3, key: weights, "best": None}, file, out)
    assert_equal(found, {"a": torch.ones(2), "b": torch.zeros(3)})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        *((value, "it contains no named tensors") for value in WITHOUT_TENSORS),
        ({3: torch.ones(2)}, "it contains a tensor without a valid name"),
        (
            {"a": torch.zeros(2, dtype=torch.complex64)},
            "'a' is a tensor of complex64, which cannot be read",
        ),
        ({"a": torch.eye(2).to_sparse()}, "'a' is a tensor of sparse_coo, which cannot be read"),
        (  # one number as 800 GB of them
            {"a": torch.zeros(1).expand(10**5, 2 * 10**6)},
            "its tensors claim to be larger than the file",
        ),
        (
            HALVES,
            "it holds the tensors of several models ('net', 'ema'); save those of one of them in a "
            "file, and open that",
        ),
        # Without torch's advice to load it unsafely.
        ({"a": torch.nn.Linear(2, 2)}, "truncated or corrupt (UnpicklingError)"),
        ({"a": Call(os.system, "exit 0")}, "truncated or corrupt (UnpicklingError)"),
    ],
)
def test_what_safetensors_cannot_store_is_refused(
    file: Path, out: Path, value: Any, message: str
) -> None:
    assert refusal(value, file, out) == message


def test_a_truncated_file_is_refused(file: Path, out: Path) -> None:
    torch.save(some_tensors(), file, _use_new_zipfile_serialization=False)
    os.truncate(file, file.stat().st_size - 20)
    with pytest.raises(UserError, match=r"^truncated or corrupt \(\w+\)$"):
        convert(str(file), str(out / "x"))
