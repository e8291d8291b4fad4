"""Runs a model on two small batches, to see what there is to measure and whether padding shows."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bertviewer.core.analysis.attention_places import attention_paths
from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.corpus.layouts import FIRST, SECOND, Shape, Sizes, layout_of
from bertviewer.core.corpus.measured import Attention, Call, Measured, Seen
from bertviewer.core.corpus.rows import rows_of
from bertviewer.core.corpus.sums import Ints
from bertviewer.core.flow.forwards import Watch, watching
from bertviewer.core.flow.nested_tensors import tensors_in
from bertviewer.core.frozen import frozen
from bertviewer.core.run.hidden_states import stacks_of
from bertviewer.core.run.inputs import text_inputs
from bertviewer.core.run.measuring import left_out
from bertviewer.core.run.recording import first_tensor

_RESERVED = ("pad_token_id", "bos_token_id", "eos_token_id", "sep_token_id", "cls_token_id")
_LENGTHS = (SECOND.tokens, SECOND.tokens - 3, 2)


@torch.no_grad()
def look(module: nn.Module, architecture: Architecture, pattern: str) -> Measured:
    """Return what of a model is measured; ``pattern`` is of the paths that are."""
    words = _words(architecture.config)
    shape = SECOND.sentences, SECOND.tokens
    first = _run(module, architecture, *_full(words, FIRST))
    second = _run(module, architecture, *_full(words, SECOND))
    calls, seen = _calls(first, second, architecture, pattern)
    places = {
        (id(tensor), version): place
        for place, call in enumerate(calls)
        for tensor, version in [first.tensors[call.path][call.number]]
    }
    state_calls = [places.get((id(state), state._version)) for state in _states(first)]
    states = [[tuple(state.shape) for state in _states(given)] for given in (first, second)]
    width = _usual_width(*states)
    return Measured(
        calls,
        seen,
        _attentions(first, second, architecture),
        len(states[0]) if width else 0,
        width,
        tuple(state_calls) if width else (),
        _hides_padding(module, architecture, words, shape, calls),
    )


@frozen(eq=False)
class _Given:
    """What the modules gave in a batch.

    Attributes:
        tensors: the first tensor of each call, and how often it had been changed in place.
        every: all tensors of each call.
        output: what the model gave.
    """

    tensors: Mapping[str, list[tuple[Tensor | None, int]]]
    every: Mapping[str, list[list[Tensor]]]
    output: Any


def _words(config: Mapping[str, Any]) -> Ints:
    """Return ids of which a tokenizer makes no use of its own."""
    reserved = [n for key in _RESERVED if isinstance(n := config.get(key), int)]
    rows = np.arange(int(config.get("vocab_size") or 1), dtype=np.int64)
    words = rows[~np.isin(rows, reserved)]
    return words if len(words) else rows


def _full(words: Ints, sizes: Sizes) -> tuple[Ints, Ints]:
    places = np.arange(sizes.sentences * sizes.tokens).reshape(sizes.sentences, -1)
    ids = words[(places * 7 + 3) % len(words)]
    return ids, np.ones_like(ids)


def _run(module: nn.Module, architecture: Architecture, ids: Ints, mask: Ints) -> _Given:
    tensors: dict[str, list[tuple[Tensor | None, int]]] = {}
    every: dict[str, list[list[Tensor]]] = {}

    def note(path: str, output: Any) -> None:
        tensor = first_tensor(output)
        tensors.setdefault(path, []).append((tensor, -1 if tensor is None else tensor._version))
        every.setdefault(path, []).append(tensors_in(output))

    def watch(path: str, inner: nn.Module) -> Watch:
        return Watch(inner, lambda _taken, output, _noted: note(path, output))

    device = next(module.parameters()).device
    rows, marks = (torch.from_numpy(array).to(device) for array in (ids, mask))
    inputs = text_inputs(module, rows, marks, torch.zeros_like(rows), architecture.config)
    listed = {node.path for node in architecture.modules}
    watches = [watch(path, inner) for path, inner in module.named_modules() if path in listed]
    with watching(watches):
        output = module(**inputs)
    return _Given(tensors, every, output)


def _calls(
    first: _Given, second: _Given, architecture: Architecture, pattern: str
) -> tuple[tuple[Call, ...], tuple[Seen, ...]]:
    """Return which calls are measured, and what becomes of all others.

    The one that is measured is the first of those that gave the same tensor: the innermost.
    """
    called = [node for node in architecture.modules if node.path in first.tensors]
    makers: dict[tuple[int, int], int] = {}
    calls: list[Call] = []
    places: dict[tuple[str, int], int | str] = {}
    for path, given in first.tensors.items():  # in the order in which they gave
        if not fnmatchcase(path, pattern):
            continue
        others = second.tensors.get(path, [])
        for number, (tensor, version) in enumerate(given):
            other = others[number][0] if len(others) == len(given) else None
            if tensor is None or other is None:
                places[path, number] = "it gives no tensor in every batch"
            elif word := left_out(tensor):
                places[path, number] = f"its values are {word}"
            elif (maker := makers.get((id(tensor), version))) is not None:
                places[path, number] = maker
            elif isinstance(layout := layout_of(tuple(tensor.shape), tuple(other.shape)), str):
                places[path, number] = layout
            else:
                places[path, number] = makers[id(tensor), version] = len(calls)
                calls.append(Call(path, number, layout))
    seen = [
        Seen(node.path, node.class_name, number, *_fate(place))
        for node in called
        for number in range(len(first.tensors[node.path]))
        if (place := places.get((node.path, number))) is not None
    ]
    return tuple(calls), tuple(seen)


def _fate(place: int | str) -> tuple[int | None, str]:
    return (None, place) if isinstance(place, str) else (place, "")


def _attentions(first: _Given, second: _Given, architecture: Architecture) -> tuple[Attention, ...]:
    """Return the attentions that give, from token to token, shares that sum to 1."""
    found: list[Attention] = []
    for path in attention_paths(architecture):
        for number, tensors in enumerate(first.every.get(path, ())):
            others = second.every.get(path, [])
            if number >= len(others) or len(others[number]) != len(tensors):
                continue
            pairs = zip(tensors, others[number], strict=True)
            place = next((n for n, pair in enumerate(pairs) if _are_shares(*pair)), None)
            if place is not None:
                found.append(Attention(path, number, place, tensors[place].shape[1]))
    return tuple(found)


def _are_shares(first: Tensor, second: Tensor) -> bool:
    for tensor, sizes in ((first, FIRST), (second, SECOND)):
        wanted = sizes.sentences, sizes.tokens, sizes.tokens
        if tensor.dim() != 4 or (tensor.shape[0], *tensor.shape[2:]) != wanted:
            return False
        if not tensor.is_floating_point() or bool((tensor < 0).any()):
            return False
        if bool(((tensor.float().sum(-1) - 1).abs() > 0.01).any()):
            return False
    return True


def _usual_width(first: list[Shape], second: list[Shape]) -> int:
    """Return how wide hidden states are that are [B, S, D], all of one width; 0 of others."""
    if len(set(first)) != 1 or len(set(second)) != 1:
        return 0
    layout = layout_of(first[0], second[0])
    if isinstance(layout, str) or not layout.is_plain or len(layout.axes) != 3:
        return 0
    return layout.width if layout.kind == "tokens" else 0


def _states(given: _Given) -> list[Tensor]:
    """Return the hidden states of a model of one stack."""
    stacks = stacks_of(given.output)
    return list(stacks[0]) if len(stacks) == 1 else []


def _hides_padding(
    module: nn.Module,
    architecture: Architecture,
    words: Ints,
    shape: tuple[int, int],
    calls: tuple[Call, ...],
) -> bool:
    """Tell whether what stands in the padding changes no bit of any token."""
    mask = (np.arange(shape[1]) < np.array(_LENGTHS)[:, None]).astype(np.int64)
    ids = words[(np.arange(mask.size).reshape(shape) * 5 + 1) % len(words)]
    other = np.where(mask == 1, ids, words[(np.arange(mask.size).reshape(shape) * 3) % len(words)])
    left, right = (_run(module, architecture, given, mask) for given in (ids, other))
    are_tokens = torch.from_numpy(mask.reshape(-1) == 1)
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
