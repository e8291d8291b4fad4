"""Sums of the hidden states token by token: what a replay would measure, without one."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bertviewer.core.analysis.part_tokens import tokens_of_rows
from bertviewer.core.run.activation_run import ActivationRun
from bertviewer.core.run.token_statistics import TokenStatistics


def state_statistics(run: ActivationRun, path: str) -> tuple[TokenStatistics, ...] | None:
    """Return the sums of a module's output, call by call, if all its calls gave hidden states.

    ``None`` stands for any other module: GPT-2's last layer, whose state is the norm's behind it.
    """
    activation = run.activation(path)
    given = [n for n, paths in enumerate(run.state_paths) if path in paths]
    if activation is None or activation.token_norms is None or not run.hidden_states:
        return None
    tokens = tokens_of_rows(run, path, len(activation.token_norms))
    if tokens is None or len(given) != len(activation.calls):
        return None
    return tuple(measure_rows(run.hidden_states[n][tokens.start : tokens.stop]) for n in given)


def measure_rows(array: NDArray[np.floating[Any]]) -> TokenStatistics:
    """Return the sums of each row of [S, D] in float64, as ``measure_tokens`` does of a tensor."""
    values = np.array(array, dtype=np.float64)
    nan, inf = np.isnan(values), np.isinf(values)
    left_out = nan | inf
    zero_counts = (values == 0).sum(axis=1)
    mins = np.min(values, axis=1, where=~left_out, initial=np.inf)
    maxs = np.max(values, axis=1, where=~left_out, initial=-np.inf)
    values[left_out] = 0.0
    totals = values.sum(axis=1)
    finite = values.shape[1] - left_out.sum(axis=1)
    values -= (totals / np.maximum(1, finite))[:, None]
    values[left_out] = 0.0
    return TokenStatistics(
        width=values.shape[1],
        nan_counts=nan.sum(axis=1),
        inf_counts=inf.sum(axis=1),
        zero_counts=zero_counts,
        totals=totals,
        deviations=np.einsum("sd,sd->s", values, values),
        mins=mins,
        maxs=maxs,
    )
