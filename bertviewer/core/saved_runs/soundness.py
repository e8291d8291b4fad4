"""Whether figures that were read can be those of a run: sizes agree, and counts are counts."""

from collections.abc import Collection, Mapping
from typing import Any, get_args

import numpy as np
from msgspec import ValidationError

from bertviewer.core.saved_runs.run_file import RunFile
from bertviewer.core.schema.activation_run import ActivationRun, ModuleActivation
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.statistics import Statistics
from bertviewer.core.sources.length_limits import stated_lengths
from bertviewer.core.sources.model_source import Kind
from bertviewer.core.sources.tasks import find_task
from bertviewer.core.tokenization.sentence import check_text
from bertviewer.core.util.errors import UserError

MOST_TOKENS = 10_000
"""The cosines of all tokens with one another take 0.8 GB then."""
MOST_STATES = 2_000
"""Twice as many layers as a configuration may have."""
MOST_COSINES = 4_000_000_000
"""Of all tokens with one another, in all hidden states; a report takes minutes for so many."""
_EXPONENTS = range(-1074, 1024)


def check_file(file: RunFile) -> None:
    """Return if what the file says of its runs can be.

    Raises:
        ValidationError: it cannot.
    """
    for run in _runs(file):
        _check_run(run)


def check_size(run: ActivationRun) -> None:
    """Return if a run is small enough for all that is calculated of it.

    Raises:
        ValidationError: it is not.
    """
    count, states = len(run.tokens), max(len(run.hidden_states), len(run.token_norms))
    if count > MOST_TOKENS or states > MOST_STATES or count**2 * states > MOST_COSINES:
        raise ValidationError(
            f"its run has {count:,} tokens in {states:,} hidden states, which is too much"
        )


def check_modules(file: RunFile, architecture: Architecture) -> None:
    """Return if the runs are of the model that their configuration makes.

    Raises:
        ValidationError: a figure is of a module that does not exist, or a token of another
            vocabulary; or a run has more tokens than the model takes.
    """
    paths = {node.path for node in architecture.modules}
    words = architecture.config.get("vocab_size")
    for run in _runs(file):
        _check_length(run, architecture.whole_config)
        last = max(token.id for token in run.tokens)
        if isinstance(words, int) and last >= words:
            raise ValidationError(
                f"its tokens belong to another model: {last:,} is not a token id of {words:,}"
            )
        _among([module.path for module in run.modules], paths)
        _among([path for state in run.state_paths for path in state if path], paths)
        check = run.check
        _among([step.path for step in check.steps] if check else [], paths)
    for path, check in file.checks.items():
        _among([path, *(step.path for step in check.steps)], paths)


def _check_length(run: ActivationRun, config: Mapping[str, Any]) -> None:
    """Raise ``ValidationError`` if a run is longer than encoder and decoder together take."""
    count = len(run.tokens)
    if count <= max(stated_lengths(config), default=MOST_TOKENS):
        return  # measuring builds the model
    from bertviewer.core.graph.length_measuring import length_limits

    limits = length_limits(config)
    parts = (limits.source, limits.target) if config.get("is_encoder_decoder") else (limits.source,)
    most = sum(part or 0 for part in parts)
    if None not in parts and count > most:
        raise ValidationError(f"its run has {count:,} tokens, and its model takes {most:,}")


def _runs(file: RunFile) -> tuple[ActivationRun, ...]:
    return (file.run,) if file.run_a is None else (file.run, file.run_a)


def _among(found: Collection[str], paths: Collection[str]) -> None:
    if odd := next((path for path in found if path not in paths), None):
        raise ValidationError(f"its model has no module {odd[:80]!r}")


def _check_run(run: ActivationRun) -> None:
    _check(run.source.kind in get_args(Kind), "its model has an unknown kind of source")
    try:
        find_task(run.source.task)
        check_text(run.sentence)
    except UserError as error:
        raise ValidationError(str(error)) from error
    count = len(run.tokens)
    _check(count > 0, "its run has no tokens")
    check_size(run)
    for token in run.tokens:
        numbers = (token.id, token.segment, token.word or 0, token.sentence or 0)
        _check(
            all(0 <= number < 2**31 for number in numbers),
            "a token's id, segment, word or sentence number is out of range",
        )
    paths = [module.path for module in run.modules]
    _check(bool(paths) and len(set(paths)) == len(paths), "modules are missing or duplicated")
    for module in run.modules:
        _check_module(module, count)
    _check(
        all(len(norms) == count for norms in run.token_norms),
        "the token norms do not match its tokens",
    )
    norms = [norm for row in run.token_norms for norm in row if norm is not None]
    _check(all(0 <= norm < np.inf for norm in norms), "a norm is negative or not finite")
    _check_states(run)
    outputs = run.outputs.values()
    _check(
        all(0 < array.ndim <= 3 and array.size for array in outputs), "an output has no valid shape"
    )
    _check(
        0 <= run.seconds_forward < 1e9 and 0 <= run.seconds_total < 1e9, "its time is out of range"
    )


def _check_states(run: ActivationRun) -> None:
    count, states = len(run.tokens), run.hidden_states
    shapes = {state.shape for state in states}
    _check(
        all(state.ndim == 2 and state.shape[0] == count and state.shape[1] for state in states)
        and len(shapes) <= 1
        and all(np.issubdtype(state.dtype, np.floating) for state in states),
        "the hidden states do not match its tokens",
    )
    for found in (states, run.state_paths):
        _check(len(found) in (0, len(run.token_norms)), "hidden states are missing")
    _check(
        all(len(paths) <= 2 for paths in run.state_paths),
        "a hidden state comes from too many modules",
    )


def _check_module(module: ModuleActivation, tokens: int) -> None:
    _check(bool(module.calls), "a module was never called")
    _check(module.macs is None or module.macs >= 0, "multiply-adds are negative")
    for shape in (module.input_shape or (), module.output_shape):
        _check(
            len(shape) <= 16 and all(0 <= size < 2**48 for size in shape), "a shape is out of range"
        )
    norms = module.token_norms
    if norms is not None:
        is_row = norms.ndim == 1 and np.issubdtype(norms.dtype, np.floating)
        _check(
            is_row and 0 < norms.size <= tokens,
            "a module's norms do not match its tokens",
        )
    for statistics in module.calls:
        _check_statistics(statistics)


def _check_statistics(one: Statistics) -> None:
    counts = (one.nan_count, one.inf_count, one.zero_count)
    _check(min(one.count, *counts) >= 0 and sum(counts) <= one.count, "a count is out of range")
    _check(0 <= one.deviations < np.inf and abs(one.total) < np.inf, "a sum is out of range")
    _check(one.exponent in _EXPONENTS, "an exponent is out of range")
    has_none = one.finite == 0
    _check((one.min is None) == (one.max is None) == has_none, "a minimum or maximum is missing")
    if one.min is not None and one.max is not None:
        _check(-np.inf < one.min <= one.max < np.inf, "a minimum or maximum is out of range")


def _check(is_so: bool, why: str) -> None:
    if not is_so:
        raise ValidationError(why)
