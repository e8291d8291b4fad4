"""Remembered results of operations are those that torch gives."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from bertviewer.core.backend import transformers
from bertviewer.core.costs.forward_pass import ForwardPass, read_forward
from bertviewer.core.flow import meta_device, meta_results
from bertviewer.core.flow.meta_results import carry_out
from tests.core.formulas.formula_models import TINY

aten = torch.ops.aten


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    meta_results._forms.clear()
    yield
    meta_results._forms.clear()


def tensor(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


def twice(operation: Any, *args: Any, **kwargs: Any) -> list[Any]:
    tensors = [arg for arg in args if isinstance(arg, torch.Tensor)]
    return [carry_out(operation, args, kwargs, tensors) for _ in range(2)]


@pytest.mark.parametrize("family", TINY)
def test_a_forward_pass_is_the_same_with_and_without(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def passed() -> ForwardPass:
        config = transformers.AutoConfig.for_model(family, **TINY[family])
        with torch.device("meta"):
            model = transformers.AutoModel.from_config(config)
        return read_forward(model, {"B": 2, "S": 8, "S_d": 5})

    first, second = passed(), passed()
    assert meta_results._forms
    monkeypatch.setattr(meta_device, "carry_out", lambda op, args, kwargs, _: op(*args, **kwargs))
    assert passed() == first == second


def test_the_same_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = twice(aten.mm.default, tensor(2, 3), tensor(3, 4))
    assert len(meta_results._forms) == 1
    assert first.shape == second.shape == (2, 4)
    assert first.untyped_storage()._cdata != second.untyped_storage()._cdata


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((aten.add.Tensor, tensor(2, dtype=torch.int64), 1), (aten.add.Tensor, tensor(2), 1)),
        ((aten.sum.dim_IntList, tensor(2, 3), [0]), (aten.sum.dim_IntList, tensor(2, 3), [1])),
        ((aten.sum.dim_IntList, tensor(2, 3), [1], 1), (aten.sum.dim_IntList, tensor(2, 3), [1])),
        ((aten.clone.default, tensor(2, 3)), (aten.clone.default, tensor(3, 2).t())),
        (
            (aten.full_like.default, tensor(2, dtype=torch.int64), 1),
            (aten.full_like.default, tensor(2, dtype=torch.int64), True),
        ),
    ],
)
def test_what_differs_is_not_taken_for_the_same(first: Any, second: Any) -> None:
    for operation, *args in (first, second, first, second):
        given = carry_out(operation, args, {}, [args[0]])
        expected = operation(*args)
        assert (given.shape, given.stride(), given.dtype) == (
            expected.shape,
            expected.stride(),
            expected.dtype,
        )


def test_numbers_as_tensors_of_the_cpu_are_left_to_torch() -> None:
    # torch wraps a plain number in one, which does not change a dtype as others do.
    whole = tensor(2, dtype=torch.int64)
    first, second = twice(aten.mul.Tensor, whole, torch.tensor(2.0))
    assert first.dtype == second.dtype == torch.float32
    assert meta_results._forms == {}


def test_views_share_memory_each_time() -> None:
    x = tensor(4, 6)
    for operation, args in ((aten.view.default, [3, 8]), (aten._unsafe_view.default, [24])):
        for view in twice(operation, x, args):
            assert view.untyped_storage()._cdata == x.untyped_storage()._cdata


def test_in_place_operations_give_their_tensor() -> None:
    x = tensor(4)
    assert all(given is x for given in twice(aten.add_.Tensor, x, 1))


def test_several_results_are_several_again() -> None:
    for given in twice(aten.native_layer_norm.default, tensor(2, 3), [3], None, None, 1e-5):
        assert [tuple(part.shape) for part in given] == [(2, 3), (2, 1), (2, 1)]


def test_an_error_is_torchs_own_each_time() -> None:
    for _ in range(2):
        with pytest.raises(RuntimeError, match="reduction dim"):
            twice(aten.mm.default, tensor(2, 3), tensor(2, 3))


def test_no_more_is_kept_than_has_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meta_results, "MOST_RESULTS", 3)
    for size in range(1, 9):
        twice(aten.clone.default, tensor(size))
    assert 1 <= len(meta_results._forms) <= 3
