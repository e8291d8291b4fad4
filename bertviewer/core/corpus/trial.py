"""Runs a model on a few small batches, to see what there is to measure and what padding does."""

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
from bertviewer.core.corpus.layouts import FIRST, SECOND, Shape, layout_of
from bertviewer.core.corpus.measured import Attention, Call, Measured, Seen
from bertviewer.core.corpus.rows import rows_of
from bertviewer.core.corpus.texts import ASKS, Texts, asked_for_shares, called
from bertviewer.core.corpus.trial_texts import ALONE, LENGTHS, TextMaker, alone
from bertviewer.core.graph.forwards import Watch, watching
from bertviewer.core.graph.nested_tensors import tensors_in
from bertviewer.core.loading.layer_synchronizer import Lockstep
from bertviewer.core.replay.eager_attention import eager, is_close
from bertviewer.core.runs.hidden_states import stacks_of
from bertviewer.core.runs.inputs import parameters_of
from bertviewer.core.runs.measuring import left_out
from bertviewer.core.runs.recording import first_tensor
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.family_names import is_cross_attention
from bertviewer.core.tokenization.tokenization import reads_target
from bertviewer.core.util.log import write_log

_ORDERS = ((0, 1, 2, 3), (2, 3, 0, 1))
_NO_SHARES = "it returns no attention weights"
_FAILS_ASKED = "the model fails when attention weights are requested"
_CHANGES_ASKED = "the model's output changes when attention weights are requested"

_ROUNDINGS = 1e-3
"""What float32 differs by, in parts of the largest value, when it is added up in another order."""


@torch.no_grad()
def look(
    module: nn.Module, architecture: Architecture, pattern: str, lockstep: Lockstep
) -> Measured:
    """Return what of a model is measured; ``pattern`` is of the paths that are."""
    makes = TextMaker(architecture)
    padded = makes.padded()
    texts = [makes.full(FIRST), makes.full(SECOND), padded, makes.repadded(padded), alone(padded)]
    if makes.has_target:
        texts.append(makes.full(FIRST, shift=1))
    first, second, left, right, one, *others = _run(module, architecture, texts, lockstep)
    calls, seen = _calls(first, second, architecture, pattern)
    if others:
        calls = tuple(_sided(call, first, others[0]) for call in calls)
    places = {
        (id(tensor), version): place
        for place, call in enumerate(calls)
        for tensor, version in [first.tensors[call.path][call.number]]
    }
    state_calls = [places.get((id(state), state._version)) for state in _states(first)]
    attentions, no_heads = _attentions(module, architecture, (first, second), lockstep)
    states = [[tuple(state.shape) for state in _states(given)] for given in (first, second)]
    width = _usual_width(*states)
    return Measured(
        calls,
        seen,
        attentions,
        tuple(map(len, stacks_of(first.output))) if width else (),
        width,
        tuple(state_calls) if width else (),
        _hides_padding(left, right, calls) and _is_alike(left, one, calls),
        no_heads=no_heads,
    )


@torch.no_grad()
def eager_gives_the_same(module: nn.Module, architecture: Architecture, lockstep: Lockstep) -> bool:
    """Tell whether a model gives with eager attention what it gives otherwise, but for roundings.

    Where transformers switches the attention itself, it does. Falcon's adds ALiBi's biases twice.
    """
    texts = [TextMaker(architecture).full(FIRST)]
    try:
        with eager(module) as is_forced:
            if not is_forced:
                return True
            (seen,) = _run(module, architecture, texts, lockstep)
    except (ValueError, NotImplementedError, ImportError):
        return True  # it has no eager attention
    (used,) = _run(module, architecture, texts, lockstep)
    one, other = first_tensor(seen.output), first_tensor(used.output)
    return one is not None and other is not None and is_close(one, other)


class _Given(Struct, frozen=True, eq=False):
    """What the modules gave in a batch.

    Attributes:
        tensors: the first tensor of each call, and how often it had been changed in place.
        every: all tensors of each call.
        output: what the model gave.
    """

    tensors: Mapping[str, list[tuple[Tensor | None, int]]]
    every: Mapping[str, list[list[Tensor]]]
    output: Any


def _run(
    module: nn.Module, architecture: Architecture, texts: Sequence[Texts], lockstep: Lockstep
) -> list[_Given]:
    own = threading.local()

    def watch(path: str, inner: nn.Module) -> Watch:
        def note(_taken: Any, output: Any, _noted: None) -> None:
            tensor = first_tensor(output)
            found = tensor, -1 if tensor is None else tensor._version
            own.tensors.setdefault(path, []).append(found)
            own.every.setdefault(path, []).append(tensors_in(output))

        return Watch(inner, note)

    def given(one: Texts) -> _Given:
        own.tensors, own.every = {}, {}
        output = called(module, one, architecture.config, gives_states=True)
        return _Given(own.tensors, own.every, output)

    jobs: list[Callable[[], _Given]] = [partial(given, one) for one in texts]
    listed = {node.path for node in architecture.modules}
    watches = [watch(path, inner) for path, inner in module.named_modules() if path in listed]
    with watching(watches):
        return lockstep.run(jobs)


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
                places[path, number] = "it does not return a tensor in every batch"
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


def _attentions(
    module: nn.Module, architecture: Architecture, seen: tuple[_Given, _Given], lockstep: Lockstep
) -> tuple[tuple[Attention, ...], tuple[tuple[str, str, str], ...]]:
    """Return the attentions that give, from token to token, shares that sum to 1.

    Those that do not by themselves are asked to; what the model gives must not change by that.

    Returns:
        The attentions, and path, class and reason of those that were called and are left out.
    """
    paths = [path for path in attention_paths(architecture) if path in seen[0].every]
    found = {path: _shares_of(path, *seen, architecture) for path in paths}
    reasons: dict[str, str] = dict.fromkeys(paths, _NO_SHARES)
    lacking = {path: module.get_submodule(path) for path in paths if not found[path]}
    asked = {p: one for p, one in lacking.items() if ASKS in parameters_of(one)}
    if asked:
        makes = TextMaker(architecture)
        texts = [makes.full(FIRST), makes.full(SECOND)]
        try:
            with asked_for_shares(asked.values()):
                one, other = _run(module, architecture, texts, lockstep)
        except (TypeError, ValueError, RuntimeError) as error:
            # Where a model expects nothing else of its attention than what it asks for.
            write_log(f"attention weights cannot be requested: {error!r}")
            reasons |= dict.fromkeys(asked, _FAILS_ASKED)
        else:
            if _is_same(one, seen[0]) and _is_same(other, seen[1]):
                for path in asked:
                    shares = _shares_of(path, one, other, architecture)
                    found[path] = [replace(each, is_asked=True) for each in shares]
            else:
                reasons |= dict.fromkeys(asked, _CHANGES_ASKED)
    names = {node.path: node.class_name for node in architecture.modules}
    return (
        tuple(one for path in paths for one in found[path]),
        tuple((path, names[path], reasons[path]) for path in paths if not found[path]),
    )


def _shares_of(
    path: str, first: _Given, second: _Given, architecture: Architecture
) -> list[Attention]:
    """Return the calls of one attention that give shares."""
    found: list[Attention] = []
    has_target = reads_target(architecture)
    for number, tensors in enumerate(first.every.get(path, ())):
        others = second.every.get(path, [])
        if number >= len(others) or len(others[number]) != len(tensors):
            continue
        pairs = enumerate(zip(tensors, others[number], strict=True))
        # XLNet's has the batch and the heads behind the tokens.
        choices = ((place, axes, pair) for place, pair in pairs for axes in _ORDERS)
        for place, axes, (tensor, other) in choices:
            if tensor.dim() == 4 == other.dim() and _are_shares(
                tensor.permute(axes), other.permute(axes)
            ):
                heads, cross = tensor.shape[axes[1]], has_target and is_cross_attention(path)
                target = cross or (has_target and "decoder" in path.split("."))
                found.append(Attention(path, number, place, heads, target, cross, axes))
                break
    return found


def _is_same(given: _Given, other: _Given) -> bool:
    """Tell whether a model gave the same numbers twice, bit by bit."""
    pairs = [[*_states(each), *tensors_in(each.output)] for each in (given, other)]
    return len(pairs[0]) == len(pairs[1]) and all(
        torch.equal(one, two) for one, two in zip(*pairs, strict=True)
    )


def _are_shares(first: Tensor, second: Tensor) -> bool:
    for tensor, sizes in ((first, FIRST), (second, SECOND)):
        wanted = sizes.sentences, sizes.tokens, sizes.tokens
        if (tensor.shape[0], *tensor.shape[2:]) != wanted:
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
    """Return the hidden states, a decoder's behind its encoder's."""
    return [state for stack in stacks_of(given.output) for state in stack]


def _sided(call: Call, given: _Given, other: _Given) -> Call:
    """Return a call with whose tokens its rows are; the decoder read other words the second time.

    What all sentences share hangs on no words: it is told by its path.
    """
    if call.layout.kind == "positions":
        return replace(call, is_target="decoder" in call.path.split("."))
    pair = [one.tensors[call.path][call.number][0] for one in (given, other)]
    found = [rows_of(tensor, call.layout) for tensor in pair if tensor is not None]
    is_same = len(found) == 2 and torch.equal(*(rows.view(torch.int32) for rows in found))
    return replace(call, is_target=not is_same)


def _hides_padding(left: _Given, right: _Given, calls: tuple[Call, ...]) -> bool:
    """Tell whether what stands in the padding changes no bit of any token."""
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


def _is_alike(given: _Given, other: _Given, calls: tuple[Call, ...]) -> bool:
    """Tell whether a sentence beside longer ones is what it is by itself, but for roundings."""
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
        room = (_ROUNDINGS if exact else 100 * _ROUNDINGS) * float(wanted.abs().nan_to_num().max())
        if found.shape != wanted.shape or not torch.allclose(found, wanted, 0, room, True):
            return False
    return True
