"""Running batches through a model, and adding the outputs of its modules to a shard's sums."""

import inspect
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import torch
from torch import Tensor, nn

from bertviewer.core.corpus.batches import Batch, padding_of, run_batch, token_limit
from bertviewer.core.corpus.measurement_spec import Call, Layout, MeasurementSpec, Sizes
from bertviewer.core.corpus.shards import ShardSums
from bertviewer.core.graph.module_calls import (
    Arguments,
    CallObserver,
    observing,
    replacing,
    tensors_in,
)
from bertviewer.core.runs.attention_implementation import SPARSE, eager_attention, reset_model_state
from bertviewer.core.runs.hidden_states import stacks_of
from bertviewer.core.runs.recording import first_tensor
from bertviewer.core.util.errors import UserError

OUTPUT_ATTENTIONS = "output_attentions"


@contextmanager
def showing_attention(
    module: nn.Module, config: Mapping[str, Any], *, is_eager: bool = True
) -> Iterator[None]:
    """Use eager attention, which returns its weights, if ``is_eager``.

    Also set a missing padding token: a classifier looks for the last token before the padding.
    """
    with ExitStack() as stack:
        own: Any = getattr(module, "config", None)
        if own is not None and getattr(own, "pad_token_id", 0) is None:
            own.pad_token_id = padding_of(config)
            stack.callback(setattr, own, "pad_token_id", None)
        if is_eager:
            with suppress(ValueError, NotImplementedError, ImportError):  # then no head is measured
                stack.enter_context(eager_attention(module))
        yield


@contextmanager
def returning_weights(attentions: Iterable[nn.Module]) -> Iterator[None]:
    """Call these attentions with ``output_attentions=True``.

    The argument is not passed to the model, which would keep the weights of all layers.
    """

    def with_weights(module: nn.Module) -> Callable[..., Any]:
        forward, signature = module.forward, inspect.signature(module.forward)

        def replacement(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.arguments[OUTPUT_ATTENTIONS] = True
            return forward(*bound.args, **bound.kwargs)

        return replacement

    with replacing((module, with_weights(module)) for module in attentions):
        yield


def settle_attention(module: nn.Module, config: Mapping[str, Any], max_tokens: int | None) -> None:
    """Set a model to one kind of attention for short and long sentences (BigBird).

    Raises:
        UserError: sentences may be too long for that.
    """
    longest = token_limit(config, max_tokens)
    reset_model_state(module, {"input_ids": torch.empty(1, longest)})
    if any(getattr(inner, "attention_type", "") == SPARSE for inner in module.modules()):
        raise UserError(
            f"{type(module).__name__} reads sentences of {longest:,} tokens differently from "
            "short ones; set a lower --max-tokens"
        )


def rows_of(tensor: Tensor, layout: Layout) -> Tensor:
    """Return [rows, width] in float32 on the CPU; a copy only where necessary."""
    values = tensor.detach() if tensor.requires_grad else tensor
    if not layout.is_plain:
        values = values.permute(layout.axes)
    if values.dtype is not torch.float32 or not values.is_cpu:
        # Half precision is exact in float32, whose bits are the bins of the histogram.
        values = values.float().cpu()
    return values.reshape(-1, layout.width).contiguous().resolve_neg()


class BatchRecorder:
    """Adds the outputs of several threads' batches, each to the sums of its own shard.

    Hidden states are added when a measured module returns them. Only if one of them comes from no
    such module, the model is asked for all of them, and keeps them until its end.
    """

    def __init__(
        self, module: nn.Module, measured: MeasurementSpec, check: Callable[[], None] = lambda: None
    ) -> None:
        """Take a model; ``check`` is called for each module, and may raise ``Cancelled``."""
        self.needs_states = None in measured.state_calls
        self._module = module
        self._check = check
        self._measured = measured
        self._own = threading.local()
        self._rows = {(call.path, call.number): place for place, call in enumerate(measured.calls)}
        self._heads = {
            (one.path, one.number): place for place, one in enumerate(measured.attentions)
        }
        self._states: dict[int, list[int]] = {}
        if not self.needs_states:
            for state, place in enumerate(measured.state_calls):
                self._states.setdefault(place or 0, []).append(state)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Observe the model inside the ``with``."""
        paths = {path for path, _ in (*self._rows, *self._heads)}
        modules = {path: inner for path, inner in self._module.named_modules() if path in paths}
        requested = {
            one.path: modules[one.path] for one in self._measured.attentions if one.is_requested
        }
        with (
            returning_weights(requested.values()),
            observing(self._watch(path, inner) for path, inner in modules.items()),
        ):
            yield

    def run(self, batch: Batch, sums: ShardSums, config: Mapping[str, Any]) -> None:
        """Run a batch through the observed model, and add it to these sums."""
        self._own.batch, self._own.sums, self._own.called = batch, sums, Counter[str]()
        try:
            output = run_batch(self._module, batch.ids, config, with_states=self.needs_states)
            if self.needs_states:
                states = [state for stack in stacks_of(output) for state in stack]
                for state, own in zip(states, sums.states, strict=True):
                    own.add(_array(state), batch.lengths)
        finally:
            del self._own.batch, self._own.sums, self._own.called

    def _watch(self, path: str, module: nn.Module) -> CallObserver:
        def see(_taken: Arguments, output: Any, _noted: None) -> None:
            if (batch := getattr(self._own, "batch", None)) is not None:
                self._check()
                number = self._own.called[path]
                self._own.called[path] += 1
                self._add(path, number, output, batch)

        return CallObserver(module, see)

    def _add(self, path: str, number: int, output: Any, batch: Batch) -> None:
        sums: ShardSums = self._own.sums
        if (place := self._rows.get((path, number))) is not None:
            call = self._measured.calls[place]
            tensor = first_tensor(output)
            if tensor is None or not call.layout.fits(
                tuple(tensor.shape), Sizes(*batch.mask.shape)
            ):
                raise UserError(f"{path}: its output has a different shape in this batch")
            _add_rows(sums, place, call, tensor, batch)
            for state in self._states.get(place, ()):
                sums.states[state].add(_array(tensor), batch.lengths)
        if (place := self._heads.get((path, number))) is not None:
            attention = self._measured.attentions[place]
            keys = batch.tokens_of(is_target=attention.is_target and not attention.is_cross)
            weights = tensors_in(output)[attention.place].permute(attention.axes)
            sums.heads[place].add(_array(weights), batch.lengths, keys.is_cls, keys.is_sep)


def _add_rows(sums: ShardSums, place: int, call: Call, tensor: Tensor, batch: Batch) -> None:
    side = batch.tokens_of(is_target=call.is_target)
    by_kind = {"tokens": side.tokens, "positions": side.positions, "sentences": batch.sentences}
    rows = by_kind[call.layout.kind]
    sums.rows[place].add(rows_of(tensor, call.layout).numpy(), rows.indices, rows.starts)


def _array(tensor: Tensor) -> Any:
    return tensor.detach().float().cpu().contiguous().numpy()
