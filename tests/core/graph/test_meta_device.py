"""Forward passes on the meta device, and with shared weights."""

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
from bertviewer.core.graph import meta_device as meta_results
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
from bertviewer.core.symbolic.forward_pass import ForwardPass, read_forward
from tests.core.formulas.formula_models import TINY

IDS = torch.tensor([[1, 0, 2], [0, 0, 3]])


@pytest.fixture
def ids() -> Iterator[Tensor]:
    """Token ids on the meta device, whose values are known."""
    inputs = ModelInputs({"ids": IDS}, ()).on_meta()
    with known_on_meta(inputs.known, lambda _: None):
        yield inputs.arguments["ids"]


@pytest.fixture
def states() -> Tensor:
    """A vector for each of them, of which nothing is known."""
    return torch.empty(2, 3, 5, device="meta")


@pytest.mark.parametrize(
    "computed",
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
def test_a_model_can_look_at_what_follows_from_its_inputs(
    ids: Tensor, computed: Callable[[Tensor], Any]
) -> None:
    assert computed(ids) == computed(IDS)


def test_places_that_are_written_to_are_known(ids: Tensor) -> None:
    mask = torch.zeros(ids.shape, device=ids.device)
    mask[ids > 0] = 1
    assert mask.tolist() == (IDS > 0).float().tolist()


def test_rows_that_a_known_mask_selects_can_be_counted(ids: Tensor, states: Tensor) -> None:
    assert states[ids > 0].shape == (3, 5)
    states[ids > 0] = torch.zeros(5)
    assert states.shape == (2, 3, 5)


@pytest.mark.parametrize(
    "asked",
    [
        lambda states: states.sum().item(),
        lambda states: states.tolist(),
        lambda states: states[states > 0],
        lambda states: states.nonzero(),
        lambda states: torch.tensor([states.sum()], device="meta"),
    ],
)
def test_what_hangs_on_weights_is_not_made_up(
    ids: Tensor, states: Tensor, asked: Callable[[Tensor], Any]
) -> None:
    del ids
    with pytest.raises((RuntimeError, NotImplementedError), match="meta"):
        asked(states)


def test_what_is_unknown_makes_what_it_is_written_into_unknown(ids: Tensor, states: Tensor) -> None:
    mask = torch.zeros(ids.shape, device=ids.device)
    row = mask[0]
    row.copy_(states[0, :, 0])
    with pytest.raises(RuntimeError, match="meta"):
        mask.sum().item()


BASE = find_task("base")


def llama(**changes: int) -> transformers.LlamaConfig:
    sizes = {"hidden_size": 64, "intermediate_size": 96, "vocab_size": 99, **changes}
    return transformers.LlamaConfig(num_hidden_layers=2, num_attention_heads=4, **sizes)


def test_it_is_the_model_that_random_weights_are_drawn_for() -> None:
    shared, drawn = (build(llama(), BASE, "it") for build in (build_shared, build_random))
    assert [name for name, _ in shared.named_parameters()] == [
        name for name, _ in drawn.named_parameters()
    ]
    for (name, one), (_, other) in zip(shared.named_buffers(), drawn.named_buffers(), strict=True):
        assert torch.equal(one, other), name
    ids = torch.tensor([[1, 2, 3]])
    models: tuple[Any, ...] = (shared, drawn)
    with torch.no_grad():
        one, other = (model(ids).last_hidden_state for model in models)
    assert one.shape == other.shape
    assert one.isfinite().all()
    assert one.std() > 0


def test_tied_weights_stay_tied() -> None:
    config = transformers.BartConfig(d_model=16, encoder_layers=1, decoder_layers=1, vocab_size=50)
    model: Any = build_shared(config, BASE, "it")
    assert model.shared.weight is model.encoder.embed_tokens.weight


def test_a_model_of_any_size_takes_little_memory() -> None:
    # A hundred thousand million weights, 400 GB in float32.
    model = build_shared(llama(hidden_size=65_536, intermediate_size=262_144), BASE, "it")
    assert sum(parameter.numel() for parameter in model.parameters()) > 10**11
    places = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    sizes = {parameter.untyped_storage().nbytes() for parameter in model.parameters()}
    assert len(places) == 1
    assert sizes == {4 * POOL}


@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (0, 4), (9, 600_000), (8, 5_000, 7_000)])
def test_rows_are_apart_and_lie_in_the_memory(shape: tuple[int, ...]) -> None:
    strides = spread(torch.empty(POOL, device="meta"), shape).stride()
    assert all(stride >= 1 for stride, size in zip(strides, shape, strict=True) if size > 1)
    last = sum(stride * (size - 1) for stride, size in zip(strides, shape, strict=True) if size)
    assert last < POOL


def test_building_changes_nothing_that_is_built_later() -> None:
    build_shared(llama(), BASE, "it")
    models: list[Any] = [build_random(llama(), BASE, "it") for _ in range(2)]
    first, second = (model.embed_tokens.weight for model in models)
    assert torch.equal(first, second)
    assert first.untyped_storage().data_ptr() != second.untyped_storage().data_ptr()


def test_models_of_other_threads_are_left_alone() -> None:
    made: list[nn.Module] = []
    with _sharing():
        thread = threading.Thread(target=lambda: made.append(nn.Linear(3, 2, device="meta")))
        thread.start()
        thread.join()
        made.append(nn.Linear(3, 2, device="meta"))
    assert [next(module.parameters()).is_meta for module in made] == [True, False]


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
    monkeypatch.setattr(meta_results, "MAX_RESULTS", 3)
    with Seen() as seen:
        for size in (*range(1, 9), 1):
            twice(aten.clone.default, tensor(size, 1013))
    # The first one was forgotten meanwhile.
    assert seen.counts[aten.clone.default] == 9
