"""Forward passes on the meta device: known values, shared weights, and memoized shapes."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from bertviewer.core.building.backend import transformers
from bertviewer.core.building.models import build_random
from bertviewer.core.graph import meta_device
from bertviewer.core.graph.inputs.signature import ModelInputs
from bertviewer.core.graph.meta_device import (
    POOL,
    _sharing,
    build_shared,
    known_on_meta,
    memoized_result,
    spread,
)
from bertviewer.core.sources.model_source import find_task
from bertviewer.core.symbolic.forward_pass import read_forward
from tests.core.graph.readers import MetaModel, config_of

aten = torch.ops.aten
IDS = torch.tensor([[1, 0, 2], [0, 0, 3]])


@pytest.fixture
def ids() -> Iterator[Tensor]:
    """Token ids on the meta device, whose values are known."""
    inputs = ModelInputs({"ids": IDS}, ()).on_meta()
    with known_on_meta(inputs.known, lambda _: None):
        yield inputs.arguments["ids"]


@pytest.fixture
def states() -> Tensor:
    """A vector for each of them, with unknown values."""
    return torch.empty(2, 3, 5, device="meta")


@pytest.mark.parametrize(
    "compute",
    [
        lambda ids: ids.tolist(),
        lambda ids: ids.cpu().tolist(),
        lambda ids: ids[ids > 0].tolist(),
        lambda ids: ids[ids[:, 0] > 0, 1:].tolist(),
        lambda ids: ids.nonzero().tolist(),
        lambda ids: torch.unique(ids).tolist(),
        lambda ids: torch.bincount(ids.flatten()).tolist(),
        lambda ids: torch.repeat_interleave(ids.flatten()).tolist(),
        lambda ids: torch.masked_select(ids, ids > 1).tolist(),
        lambda ids: torch.equal(ids, ids.clone()),
        lambda ids: [int(number) for number in ids.sum(dim=1)],
        lambda ids: bool((ids > 2).any()),
        lambda ids: torch.tensor([2, 3], device=ids.device).tolist(),
        lambda ids: torch.tensor([ids.max(), ids.min()], device=ids.device).tolist(),
        lambda ids: ids.new_tensor([[7]]).tolist(),
        lambda ids: torch.as_tensor(4, device=ids.device).item(),
        lambda ids: ids.float().masked_fill(ids == 0, torch.tensor(9.0)).tolist(),
    ],
)
def test_values_that_follow_from_the_inputs_are_known(
    ids: Tensor, compute: Callable[[Tensor], Any]
) -> None:
    assert compute(ids) == compute(IDS)


def test_a_tensor_is_known_after_known_values_are_written_to_it(ids: Tensor) -> None:
    mask = torch.zeros(ids.shape, device=ids.device)
    mask[ids > 0] = 1
    assert mask.tolist() == (IDS > 0).float().tolist()


def test_a_known_mask_selects_rows_of_unknown_values(ids: Tensor, states: Tensor) -> None:
    assert states[ids > 0].shape == (3, 5)
    states[ids > 0] = torch.zeros(5)
    assert states.shape == (2, 3, 5)


@pytest.mark.parametrize(
    "compute",
    [
        lambda states: states.sum().item(),
        lambda states: states.tolist(),
        lambda states: states[states > 0],
        lambda states: states.nonzero(),
        lambda states: torch.tensor([states.sum()], device="meta"),
    ],
)
@pytest.mark.usefixtures("ids")
def test_values_that_depend_on_weights_raise(
    states: Tensor, compute: Callable[[Tensor], Any]
) -> None:
    with pytest.raises((RuntimeError, NotImplementedError), match="meta"):
        compute(states)


def test_a_tensor_is_unknown_after_unknown_values_are_written_to_it(
    ids: Tensor, states: Tensor
) -> None:
    mask = torch.zeros(ids.shape, device=ids.device)
    row = mask[0]
    row.copy_(states[0, :, 0])
    with pytest.raises(RuntimeError, match="meta"):
        mask.sum().item()


BASE = find_task("base")


def llama(**changes: int) -> transformers.LlamaConfig:
    sizes = {"hidden_size": 64, "intermediate_size": 96, "vocab_size": 99, **changes}
    return transformers.LlamaConfig(num_hidden_layers=2, num_attention_heads=4, **sizes)


def test_a_model_with_shared_weights_runs_like_one_with_random_weights() -> None:
    shared, drawn = (build(llama(), BASE, "it") for build in (build_shared, build_random))
    assert [name for name, _ in shared.named_parameters()] == [
        name for name, _ in drawn.named_parameters()
    ]
    for (name, one), (_, other) in zip(shared.named_buffers(), drawn.named_buffers(), strict=True):
        assert torch.equal(one, other), name
    models: tuple[Any, ...] = (shared, drawn)
    with torch.no_grad():
        one, other = (model(torch.tensor([[1, 2, 3]])).last_hidden_state for model in models)
    assert one.shape == other.shape
    assert one.isfinite().all()
    assert one.std() > 0


def test_tied_weights_stay_tied() -> None:
    config = transformers.BartConfig(d_model=16, encoder_layers=1, decoder_layers=1, vocab_size=50)
    model: Any = build_shared(config, BASE, "it")
    assert model.shared.weight is model.encoder.embed_tokens.weight


def test_weights_of_a_large_model_share_one_small_memory() -> None:
    # A hundred thousand million weights, 400 GB in float32.
    model = build_shared(llama(hidden_size=65_536, intermediate_size=262_144), BASE, "it")
    parameters = list(model.parameters())
    assert sum(parameter.numel() for parameter in parameters) > 10**11
    storages = {parameter.untyped_storage().data_ptr() for parameter in parameters}
    assert len(storages) == 1
    assert {parameter.untyped_storage().nbytes() for parameter in parameters} == {4 * POOL}


@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (0, 4), (9, 600_000), (8, 5_000, 7_000)])
def test_rows_of_a_weight_differ_and_are_in_the_memory(shape: tuple[int, ...]) -> None:
    strides = spread(torch.empty(POOL, device="meta"), shape).stride()
    assert all(stride >= 1 for stride, size in zip(strides, shape, strict=True) if size > 1)
    last = sum(stride * (size - 1) for stride, size in zip(strides, shape, strict=True) if size)
    assert last < POOL


def test_models_that_are_built_later_have_weights_of_their_own() -> None:
    build_shared(llama(), BASE, "it")
    models: list[Any] = [build_random(llama(), BASE, "it") for _ in range(2)]
    first, second = (model.embed_tokens.weight for model in models)
    assert torch.equal(first, second)
    assert first.untyped_storage().data_ptr() != second.untyped_storage().data_ptr()


def test_models_of_other_threads_do_not_share_weights() -> None:
    made: list[nn.Module] = []
    with _sharing():
        thread = threading.Thread(target=lambda: made.append(nn.Linear(3, 2, device="meta")))
        thread.start()
        thread.join()
        made.append(nn.Linear(3, 2, device="meta"))
    assert [next(module.parameters()).is_meta for module in made] == [True, False]


class OperationCounter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the operations that torch executes."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.counts: Counter[Any] = Counter()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.counts[func] += 1
        return func(*args, **kwargs or {})

    @property
    def executed(self) -> int:
        """Without the allocations for memoized results."""
        return sum(self.counts.values()) - self.counts[aten.empty_strided.default]


def tensor(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


def twice(operation: Any, *args: Any) -> list[Any]:
    tensors = [arg for arg in args if isinstance(arg, Tensor)]
    return [memoized_result(operation, args, {}, tensors) for _ in range(2)]


@pytest.mark.parametrize("family", ["bert", "t5", "llama", "deberta-v2", "big_bird"])
def test_a_pass_with_memoized_shapes_is_the_same(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sizes() -> Any:
        model = MetaModel(config_of(family), "base").module
        return read_forward(model, {"B": 2, "S": 8, "S_d": 5})

    first = sizes()
    with OperationCounter() as memoized:
        second = sizes()
    monkeypatch.setattr(
        meta_device, "memoized_result", lambda op, args, kwargs, _: op(*args, **kwargs)
    )
    with OperationCounter() as plain:
        assert sizes() == first == second
    assert memoized.executed < plain.executed


def test_a_shape_is_computed_once() -> None:
    with OperationCounter() as counter:  # a size that no other test has
        first, second = twice(aten.mm.default, tensor(2, 1009), tensor(1009, 4))
    assert counter.counts[aten.mm.default] == 1
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
        # torch wraps a plain number in a tensor of the CPU, which does not change a dtype.
        (
            (aten.mul.Tensor, tensor(2, dtype=torch.int64), torch.tensor(2)),
            (aten.mul.Tensor, tensor(2, dtype=torch.int64), torch.tensor(2.0)),
        ),
    ],
)
def test_different_operands_have_different_results(first: Any, second: Any) -> None:
    for operation, *args in (first, second, first, second):
        expected = operation(*args)
        tensors = [arg for arg in args if isinstance(arg, Tensor)]
        found = memoized_result(operation, args, {}, tensors)
        assert (found.shape, found.stride(), found.dtype) == (
            *(expected.shape, expected.stride(), expected.dtype),
        )


def test_views_and_in_place_results_keep_their_memory() -> None:
    x = tensor(4, 6)
    for operation, args in ((aten.view.default, [3, 8]), (aten._unsafe_view.default, [24])):
        for view in twice(operation, x, args):
            assert view.untyped_storage()._cdata == x.untyped_storage()._cdata
    assert all(found is x for found in twice(aten.add_.Tensor, x, 1))


def test_an_operation_with_several_results() -> None:
    for found in twice(aten.native_layer_norm.default, tensor(2, 3), [3], None, None, 1e-5):
        assert [tuple(part.shape) for part in found] == [(2, 3), (2, 1), (2, 1)]


def test_an_error_is_torchs() -> None:
    for _ in range(2):
        with pytest.raises(RuntimeError, match="reduction dim"):
            twice(aten.mm.default, tensor(2, 3), tensor(2, 3))


def test_the_number_of_memoized_shapes_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meta_device, "MAX_RESULTS", 3)
    with OperationCounter() as counter:
        for size in (*range(1, 9), 1):
            twice(aten.clone.default, tensor(size, 1013))
    assert counter.counts[aten.clone.default] == 9  # the first one was dropped in between
