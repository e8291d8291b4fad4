"""Checks of saved runs that types can't express: values agree, and belong to the model."""

from collections.abc import Collection, Mapping
from typing import Any, get_args

import numpy as np
from msgspec import ValidationError

from bertviewer.core.saved_runs.run_file import MAX_TOKENS, RunFile, check_size
from bertviewer.core.schema.activation_run import ActivationRun, ModuleActivation
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.statistics import Statistics
from bertviewer.core.sources.length_limits import stated_lengths
from bertviewer.core.sources.model_source import Kind, find_task
from bertviewer.core.tokenization.sentence import check_text
from bertviewer.core.util.errors import UserError


def check_run(run: ActivationRun) -> None:
    """Check that the values of a run are consistent.

    Raises:
        ValidationError: they are not.
    """
    _check(run.source.kind in get_args(Kind), "its model has an unknown kind of source")
    try:
        find_task(run.source.task)
        check_text(run.sentence)
    except UserError as error:
        raise ValidationError(str(error)) from error
    check_size(run)
    paths = [module.path for module in run.modules]
    _check(len(set(paths)) == len(paths), "modules are duplicated")
    for module in run.modules:
        _check_module(module, len(run.tokens))
    outputs = run.outputs.values()
    _check(all(0 < x.ndim <= 3 and x.size for x in outputs), "an output has no valid shape")
    _check_states(run)


def check_modules(file: RunFile, architecture: Architecture) -> None:
    """Check that the runs belong to the model that their configuration builds.

    Raises:
        ValidationError: a module does not exist, a token is of another vocabulary, or a run has
            more tokens than the model accepts.
    """
    paths = {node.path for node in architecture.modules}
    words = architecture.config.get("vocab_size")
    for run in file.runs:
        _check_length(run, architecture.whole_config)
        last = max(token.id for token in run.tokens)
        _check(
            not isinstance(words, int) or last < words,
            f"its tokens belong to another model: {last:,} is not a token id of {words:,}",
        )
        _check_paths([module.path for module in run.modules], paths)
        _check_paths([path for state in run.state_paths for path in state if path], paths)
        _check_paths([step.path for step in run.check.steps] if run.check else [], paths)
    for path, check in file.checks.items():
        _check_paths([path, *(step.path for step in check.steps)], paths)


def _check_length(run: ActivationRun, config: Mapping[str, Any]) -> None:
    """Check that a run is not longer than encoder and decoder together accept."""
    count = len(run.tokens)
    if count <= max(stated_lengths(config), default=MAX_TOKENS):
        return  # measuring the lengths builds the model
    from bertviewer.core.graph.length_measuring import length_limits  # imports torch

    limits = length_limits(config)
    parts = (limits.source, limits.target) if config.get("is_encoder_decoder") else (limits.source,)
    most = sum(part or 0 for part in parts)
    if None not in parts:
        _check(count <= most, f"its run has {count:,} tokens, and its model takes {most:,}")


def _check_paths(found: Collection[str], paths: Collection[str]) -> None:
    for path in found:
        _check(path in paths, f"its model has no module {path[:80]!r}")


def _check_states(run: ActivationRun) -> None:
    count, states = len(run.tokens), run.hidden_states
    is_fitting = all(len(norms) == count for norms in run.token_norms)
    _check(is_fitting, "the token norms do not match its tokens")
    is_fitting = all(
        state.ndim == 2
        and state.shape[0] == count
        and state.shape[1]
        and np.issubdtype(state.dtype, np.floating)
        for state in states
    )
    is_uniform = len({state.shape for state in states}) <= 1
    _check(is_fitting and is_uniform, "the hidden states do not match its tokens")
    for found in (states, run.state_paths):
        _check(len(found) in (0, len(run.token_norms)), "hidden states are missing")


def _check_module(module: ModuleActivation, tokens: int) -> None:
    norms = module.token_norms
    if norms is not None:
        is_row = norms.ndim == 1 and np.issubdtype(norms.dtype, np.floating)
        is_fitting = is_row and 0 < norms.size <= tokens
        _check(is_fitting, "a module's norms do not match its tokens")
    for statistics in module.calls:
        _check_statistics(statistics)


def _check_statistics(one: Statistics) -> None:
    special = one.nan_count + one.inf_count + one.zero_count
    _check(special <= one.count, "a count is out of range")
    has_none = one.finite == 0
    _check((one.min is None) == (one.max is None) == has_none, "a minimum or maximum is missing")
    if one.min is not None and one.max is not None:
        _check(one.min <= one.max, "a minimum or maximum is out of range")


def _check(is_valid: bool, message: str) -> None:
    if not is_valid:
        raise ValidationError(message)
