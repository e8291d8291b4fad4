"""Probe: run a model on a few small batches to find out what can be measured of it."""

import threading
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import numpy as np
import torch
from msgspec import Struct
from msgspec.structs import replace
from torch import Tensor, nn

from bertviewer.core.analysis.attention_modules import attention_paths
from bertviewer.core.corpus.batches import BatchIds, run_batch
from bertviewer.core.corpus.measurement_spec import (
    FIRST,
    SECOND,
    Attention,
    Call,
    MeasurementSpec,
    SeenCall,
    Shape,
    layout_of,
)
from bertviewer.core.corpus.probe_inputs import ALONE, LENGTHS, ProbeInputs, alone
from bertviewer.core.corpus.recorder import OUTPUT_ATTENTIONS, returning_weights, rows_of
from bertviewer.core.graph.module_calls import CallObserver, observing, tensors_in
from bertviewer.core.loading.layer_synchronizer import LayerSynchronizer
from bertviewer.core.runs.attention_implementation import (
    eager_attention,
    has_probability_rows,
    is_close,
)
from bertviewer.core.runs.hidden_states import stacks_of
from bertviewer.core.runs.inputs import parameters_of
from bertviewer.core.runs.measuring import skip_reason
from bertviewer.core.runs.recording import first_tensor
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.families import is_cross_attention
from bertviewer.core.tokenization.tokenization import reads_target
from bertviewer.core.util.log import write_log

_ORDERS = ((0, 1, 2, 3), (2, 3, 0, 1))  # XLNet's: tokens before batch and heads
_NO_WEIGHTS = "it returns no attention weights"
_FAILS_REQUESTED = "the model fails when attention weights are requested"
_CHANGES_REQUESTED = "the model's output changes when attention weights are requested"

_ROUNDING = 1e-3
"""Allowed difference of float32 sums in another order, relative to the largest value."""


@torch.no_grad()
def probe(
    module: nn.Module, architecture: Architecture, pattern: str, synchronizer: LayerSynchronizer
) -> MeasurementSpec:
    """Return what is measured of a model; ``pattern`` is a glob pattern of the modules' paths."""
    inputs = ProbeInputs(architecture)
    padded = inputs.padded()
    texts = [
        *(inputs.full(FIRST), inputs.full(SECOND)),
        *(padded, inputs.with_other_padding(padded), alone(padded)),
        *([inputs.full(FIRST, shift=1)] if inputs.has_target else []),
    ]
    first, second, left, right, one, *others = _run(module, architecture, texts, synchronizer)
    calls, seen = _calls(first, second, architecture, pattern)
    if others:
        calls = tuple(_with_side(call, first, others[0]) for call in calls)
    places = {
        (id(tensor), version): place
        for place, call in enumerate(calls)
        for tensor, version in [first.tensors[call.path][call.number]]
    }
    state_calls = [places.get((id(state), state._version)) for state in _states(first)]
    attentions, no_heads = _attentions(module, architecture, (first, second), synchronizer)
    states = [[tuple(state.shape) for state in _states(given)] for given in (first, second)]
    width = _state_width(*states)
    return MeasurementSpec(
        calls,
        seen,
        attentions,
        tuple(map(len, stacks_of(first.output))) if width else (),
        width,
        tuple(state_calls) if width else (),
        _hides_padding(left, right, calls) and _is_same_alone(left, one, calls),
        no_heads=no_heads,
    )


@torch.no_grad()
def eager_is_equivalent(
    module: nn.Module, architecture: Architecture, synchronizer: LayerSynchronizer
) -> bool:
    """Whether eager attention gives the model's usual output, up to rounding.

    It does where transformers switches the attention itself; Falcon's adds ALiBi biases twice.
    """
    texts = [ProbeInputs(architecture).full(FIRST)]
    try:
        with eager_attention(module) as is_forced:
            if not is_forced:
                return True
            (seen,) = _run(module, architecture, texts, synchronizer)
    except (ValueError, NotImplementedError, ImportError):
        return True  # it has no eager attention
    (used,) = _run(module, architecture, texts, synchronizer)
    one, other = first_tensor(seen.output), first_tensor(used.output)
    return one is not None and other is not None and is_close(one, other)


class _Outputs(Struct, frozen=True, eq=False):
    """Outputs of the modules in a batch.

    Attributes:
        tensors: first tensor of each call, and its version at that time.
        every: all tensors of each call.
        output: output of the model.
    """

    tensors: Mapping[str, list[tuple[Tensor | None, int]]]
    every: Mapping[str, list[list[Tensor]]]
    output: Any


def _run(
    module: nn.Module,
    architecture: Architecture,
    texts: Sequence[BatchIds],
    synchronizer: LayerSynchronizer,
) -> list[_Outputs]:
    own = threading.local()

    def watch(path: str, inner: nn.Module) -> CallObserver:
        def note(_taken: Any, output: Any, _noted: None) -> None:
            tensor = first_tensor(output)
            found = tensor, -1 if tensor is None else tensor._version
            own.tensors.setdefault(path, []).append(found)
            own.every.setdefault(path, []).append(tensors_in(output))

        return CallObserver(inner, note)

    def given(one: BatchIds) -> _Outputs:
        own.tensors, own.every = {}, {}
        output = run_batch(module, one, architecture.config, with_states=True)
        return _Outputs(own.tensors, own.every, output)

    jobs: list[Callable[[], _Outputs]] = [partial(given, one) for one in texts]
    listed = {node.path for node in architecture.modules}
    watches = [watch(path, inner) for path, inner in module.named_modules() if path in listed]
    with observing(watches):
        return synchronizer.run(jobs)


def _calls(
    first: _Outputs, second: _Outputs, architecture: Architecture, pattern: str
) -> tuple[tuple[Call, ...], tuple[SeenCall, ...]]:
    """Return the calls that are measured, and all calls with the reasons of the others.

    Of calls with the same tensor the first one is measured: the innermost.
    """
    called = [node for node in architecture.modules if node.path in first.tensors]
    makers: dict[tuple[int, int], int] = {}
    calls: list[Call] = []
    places: dict[tuple[str, int], int | str] = {}
    for path, given in first.tensors.items():  # in order of execution
        if not fnmatchcase(path, pattern):
            continue
        others = second.tensors.get(path, [])
        for number, (tensor, version) in enumerate(given):
            other = others[number][0] if len(others) == len(given) else None
            if tensor is None or other is None:
                places[path, number] = "it does not return a tensor in every batch"
            elif word := skip_reason(tensor):
                places[path, number] = f"its values are {word}"
            elif (maker := makers.get((id(tensor), version))) is not None:
                places[path, number] = maker
            elif isinstance(layout := layout_of(tuple(tensor.shape), tuple(other.shape)), str):
                places[path, number] = layout
            else:
                places[path, number] = makers[id(tensor), version] = len(calls)
                calls.append(Call(path, number, layout))
    seen = [
        SeenCall(
            node.path,
            node.class_name,
            number,
            *((None, place) if isinstance(place, str) else (place, "")),
        )
        for node in called
        for number in range(len(first.tensors[node.path]))
        if (place := places.get((node.path, number))) is not None
    ]
    return tuple(calls), tuple(seen)


def _attentions(
    module: nn.Module,
    architecture: Architecture,
    seen: tuple[_Outputs, _Outputs],
    synchronizer: LayerSynchronizer,
) -> tuple[tuple[Attention, ...], tuple[tuple[str, str, str], ...]]:
    """Return the attentions that return weights between tokens which sum to 1.

    They are requested from the others, which must not change the model's output.

    Returns:
        The attentions, and path, class and reason of those without weights.
    """
    paths = [path for path in attention_paths(architecture) if path in seen[0].every]
    found = {path: _weights_of(path, *seen, architecture) for path in paths}
    reasons: dict[str, str] = dict.fromkeys(paths, _NO_WEIGHTS)
    lacking = {path: module.get_submodule(path) for path in paths if not found[path]}
    requested = {p: one for p, one in lacking.items() if OUTPUT_ATTENTIONS in parameters_of(one)}
    if requested:
        inputs = ProbeInputs(architecture)
        texts = [inputs.full(FIRST), inputs.full(SECOND)]
        try:
            with returning_weights(requested.values()):
                one, other = _run(module, architecture, texts, synchronizer)
        except (TypeError, ValueError, RuntimeError) as error:
            # The model does not expect weights that it has not requested.
            write_log(f"attention weights cannot be requested: {error!r}")
            reasons |= dict.fromkeys(requested, _FAILS_REQUESTED)
        else:
            if _is_same(one, seen[0]) and _is_same(other, seen[1]):
                for path in requested:
                    shares = _weights_of(path, one, other, architecture)
                    found[path] = [replace(each, is_requested=True) for each in shares]
            else:
                reasons |= dict.fromkeys(requested, _CHANGES_REQUESTED)
    names = {node.path: node.class_name for node in architecture.modules}
    return (
        tuple(one for path in paths for one in found[path]),
        tuple((path, names[path], reasons[path]) for path in paths if not found[path]),
    )


def _weights_of(
    path: str, first: _Outputs, second: _Outputs, architecture: Architecture
) -> list[Attention]:
    """Return the calls of one attention that return weights."""
    found: list[Attention] = []
    has_target = reads_target(architecture)
    for number, tensors in enumerate(first.every.get(path, ())):
        others = second.every.get(path, [])
        if number >= len(others) or len(others[number]) != len(tensors):
            continue
        pairs = enumerate(zip(tensors, others[number], strict=True))
        choices = ((place, axes, pair) for place, pair in pairs for axes in _ORDERS)
        for place, axes, (tensor, other) in choices:
            if tensor.dim() == 4 == other.dim() and _are_weights(
                tensor.permute(axes), other.permute(axes)
            ):
                heads, cross = tensor.shape[axes[1]], has_target and is_cross_attention(path)
                target = cross or (has_target and "decoder" in path.split("."))
                found.append(Attention(path, number, place, heads, target, cross, axes))
                break
    return found


def _is_same(given: _Outputs, other: _Outputs) -> bool:
    """Whether two outputs of a model are bitwise equal."""
    pairs = [[*_states(each), *tensors_in(each.output)] for each in (given, other)]
    return len(pairs[0]) == len(pairs[1]) and all(
        torch.equal(one, two) for one, two in zip(*pairs, strict=True)
    )


def _are_weights(first: Tensor, second: Tensor) -> bool:
    return all(
        (tensor.shape[0], *tensor.shape[2:]) == (sizes.sentences, sizes.tokens, sizes.tokens)
        and has_probability_rows(tensor)
        for tensor, sizes in ((first, FIRST), (second, SECOND))
    )


def _state_width(first: list[Shape], second: list[Shape]) -> int:
    """Return D of hidden states [B, S, D] of one width, otherwise 0."""
    if len(set(first)) != 1 or len(set(second)) != 1:
        return 0
    layout = layout_of(first[0], second[0])
    if isinstance(layout, str) or not layout.is_plain or len(layout.axes) != 3:
        return 0
    return layout.width if layout.kind == "tokens" else 0


def _states(given: _Outputs) -> list[Tensor]:
    """Return the hidden states, the encoder's first."""
    return [state for stack in stacks_of(given.output) for state in stack]


def _with_side(call: Call, given: _Outputs, other: _Outputs) -> Call:
    """Set ``is_target`` of a call: only the decoder's tokens differ between the two outputs.

    Positions do not depend on tokens; there the path decides.
    """
    if call.layout.kind == "positions":
        return replace(call, is_target="decoder" in call.path.split("."))
    pair = [one.tensors[call.path][call.number][0] for one in (given, other)]
    found = [rows_of(tensor, call.layout) for tensor in pair if tensor is not None]
    is_same = len(found) == 2 and torch.equal(*(rows.view(torch.int32) for rows in found))
    return replace(call, is_target=not is_same)


def _hides_padding(left: _Outputs, right: _Outputs, calls: tuple[Call, ...]) -> bool:
    """Whether other ids in the padding change no bit of any token."""
    places = np.arange(SECOND.tokens) < np.array(LENGTHS)[:, None]
    are_tokens = torch.from_numpy(places.reshape(-1))
    for call in calls:
        both = [given.tensors[call.path][call.number][0] for given in (left, right)]
        found = [rows_of(tensor, call.layout) for tensor in both if tensor is not None]
        if len(found) != 2:
            return False
        if call.layout.kind == "tokens":
            found = [values[are_tokens] for values in found]
        if not torch.equal(found[0], found[1]):
            return False
    return True


def _is_same_alone(given: _Outputs, other: _Outputs, calls: tuple[Call, ...]) -> bool:
    """Whether a padded sentence has the same values as without padding, up to rounding."""
    start = ALONE * SECOND.tokens
    rows = {
        "tokens": slice(start, start + LENGTHS[ALONE]),
        "positions": slice(LENGTHS[ALONE]),
        "sentences": slice(ALONE, ALONE + 1),
    }
    for call in calls:
        pair = [one.tensors.get(call.path, ()) for one in (given, other)]
        if len(pair[0]) != len(pair[1]):
            return False
        tensors = [each[call.number][0] for each in pair]
        if tensors[0] is None or tensors[1] is None:
            return False
        found = rows_of(tensors[0], call.layout)[rows[call.layout.kind]]
        wanted = rows_of(tensors[1], call.layout)
        exact = tensors[0].dtype in (torch.float32, torch.float64)
        room = (_ROUNDING if exact else 100 * _ROUNDING) * float(wanted.abs().nan_to_num().max())
        if found.shape != wanted.shape or not torch.allclose(found, wanted, 0, room, True):
            return False
    return True
