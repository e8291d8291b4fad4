"""Hidden states and small outputs of a forward pass, and the modules that produced them."""

from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from bertviewer.core.runs.measuring import as_array, measure_tokens, skip_reason
from bertviewer.core.runs.recording import Recorder
from bertviewer.core.schema.modules import ancestors

State = NDArray[np.floating[Any]]
Stack = tuple[Tensor, ...]
"""The hidden states of an encoder, a decoder, or a model that is one of them."""

MAX_ELEMENTS = 1_000_000
"""Maximum elements of an output that a run keeps."""
_NOT_KEPT = frozenset({"hidden_states", "attentions", "last_hidden_state", "past_key_values"})


def stacks_of(output: Any) -> tuple[Stack, ...]:
    """Return the hidden states of the model, or those of its encoder and of its decoder.

    None if one of them is no tensor or cannot be measured (Pegasus-X returns local and global
    tokens separately), if they differ in their numbers of tokens (Funnel pools them), or if the
    model returns none.
    """
    if (own := output.get("hidden_states")) is not None:
        stacks: tuple[Stack, ...] = (tuple(own),)
    else:
        encoder, decoder = output.get("encoder_hidden_states"), output.get("decoder_hidden_states")
        stacks = () if encoder is None or decoder is None else (tuple(encoder), tuple(decoder))
    states = [state for stack in stacks for state in stack]
    if not all(stacks):
        return ()
    if any(not isinstance(state, Tensor) or skip_reason(state) for state in states):
        return ()
    return () if any(len({s.shape[:2] for s in stack}) > 1 for stack in stacks) else stacks


def token_norms(stacks: tuple[Stack, ...]) -> tuple[tuple[float | None, ...], ...]:
    """Return the Euclidean norm of each token in each hidden state: (N + 1) × S."""
    absent = [[None] * stack[0].shape[1] for stack in stacks]
    return tuple(
        tuple(
            norm
            for state, missing in zip(states, absent, strict=True)
            for norm in (missing if state is None else _norms(state))
        )
        for states in zip_longest(*stacks)
    )


def hidden_states(stacks: tuple[Stack, ...]) -> tuple[State, ...]:
    """Return the states as [S, D], the encoder's tokens before the decoder's; () if D differs."""
    sizes = {state.shape[1:] for stack in stacks for state in stack}
    widths = {size[-1] for size in sizes}
    if len(widths) != 1 or any(len({s.shape for s in stack}) != 1 for stack in stacks):
        return ()
    if len(stacks) == 1:
        return tuple(as_array(state[0]) for state in stacks[0])
    absent = [np.full(stack[0].shape[1:], np.nan, dtype=np.float32) for stack in stacks]
    return tuple(
        np.concatenate(
            [
                missing if state is None else as_array(state[0])
                for state, missing in zip(states, absent, strict=True)
            ]
        )
        for states in zip_longest(*stacks)
    )


def state_paths(stacks: tuple[Stack, ...], recorder: Recorder) -> tuple[tuple[str, ...], ...]:
    """Return for each hidden state the paths of its producers, one for each stack.

    The producer is the outermost module around the first one that returned the state, but not one
    in which another state is produced, too. "" if there is none.
    """
    rows = [
        [_around_first([] if state is None else recorder.producers(state)) for state in states]
        for states in zip_longest(*stacks)
    ]
    known = [paths for row in rows for paths in row if paths]

    def producer(paths: list[str]) -> str:
        alone = [
            path
            for path in paths
            if all(path in others or path not in ancestors(others[0]) for others in known)
        ]
        return min(alone, key=len, default="")

    return tuple(tuple(producer(paths) for paths in row) for row in rows)


def _around_first(producers: list[str]) -> list[str]:
    """Return the first producer, and those of the others that contain it."""
    return [path for path in producers if path in ancestors(producers[0])]


def small_outputs(output: Any, vocabulary: object) -> dict[str, NDArray[Any]]:
    """Return the model's small outputs by name, without hidden states and vocabulary scores."""
    return {
        name: as_array(value)
        for name, value in output.items()
        if isinstance(value, Tensor)
        and name.removeprefix("encoder_") not in _NOT_KEPT
        and not skip_reason(value)
        and value.numel() <= MAX_ELEMENTS
        and (value.dim() < 3 or value.shape[-1] != vocabulary)
    }


def _norms(state: Tensor) -> list[float | None]:
    rows = measure_tokens(state[0])
    is_whole = np.isfinite(rows.norms) & (rows.by_name.nan_count + rows.by_name.inf_count == 0)
    pairs = zip(rows.norms.tolist(), is_whole.tolist(), strict=True)
    return [norm if whole else None for norm, whole in pairs]
