"""Remembered results of operations are those that torch gives."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from bertviewer.core.building.backend import transformers
from bertviewer.core.graph import meta_device
from bertviewer.core.graph import meta_device as meta_results
from bertviewer.core.graph.meta_device import memoized_result
from bertviewer.core.symbolic.forward_pass import ForwardPass, read_forward
from tests.core.formulas.formula_models import TINY

aten = torch.ops.aten


class Seen(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the operations that torch works out itself."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.counts: Counter[Any] = Counter()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.counts[func] += 1
        return func(*args, **kwargs or {})

    @property
    def worked_out(self) -> int:
        """Of whatever was known, memory alone is taken."""
        return sum(self.counts.values()) - self.counts[aten.empty_strided.default]


def tensor(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


def twice(operation: Any, *args: Any, **kwargs: Any) -> list[Any]:
    tensors = [arg for arg in args if isinstance(arg, torch.Tensor)]
    return [memoized_result(operation, args, kwargs, tensors) for _ in range(2)]


@pytest.mark.parametrize("family", ["bert", "t5", "llama", "deberta-v2", "big_bird"])
def test_a_forward_pass_is_the_same_with_and_without(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def passed() -> ForwardPass:
        config = transformers.AutoConfig.for_model(family, **TINY[family])
        with torch.device("meta"):
            model = transformers.AutoModel.from_config(config)
        return read_forward(model, {"B": 2, "S": 8, "S_d": 5})

    first = passed()
    with Seen() as with_memory:
        second = passed()
    monkeypatch.setattr(
        meta_device, "memoized_result", lambda op, args, kwargs, _: op(*args, **kwargs)
    )
    with Seen() as without:
        assert passed() == first == second
    assert with_memory.worked_out < without.worked_out


def test_the_same_is_worked_out_once() -> None:
    # A size that no other test has.
    with Seen() as seen:
        first, second = twice(aten.mm.default, tensor(2, 1009), tensor(1009, 4))
    assert seen.counts[aten.mm.default] == 1
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
        given = memoized_result(operation, args, {}, [args[0]])
        expected = operation(*args)
        assert (given.shape, given.stride(), given.dtype) == (
            expected.shape,
            expected.stride(),
            expected.dtype,
        )


def test_numbers_as_tensors_of_the_cpu_are_left_to_torch() -> None:
    # torch wraps a plain number in one, which does not change a dtype as others do.
    whole = tensor(2, dtype=torch.int64)
    with Seen() as seen:
        first, second = twice(aten.mul.Tensor, whole, torch.tensor(2.0))
    assert seen.counts[aten.mul.Tensor] == 2
    assert first.dtype == second.dtype == torch.float32


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
    with Seen() as seen:
        for size in (*range(1, 9), 1):
            twice(aten.clone.default, tensor(size, 1013))
    # The first one was forgotten meanwhile.
    assert seen.counts[aten.clone.default] == 9
