"""Sums of the hidden states token by token: what a replay would measure, without one."""

from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.activations.row_statistics import measure_rows
from bertviewer.core.activations.token_statistics import TokenStatistics
from bertviewer.core.analysis.part_tokens import tokens_of_rows


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
    states = (run.hidden_states[n][tokens.start : tokens.stop] for n in given)
    return tuple(measure_rows(state)[1] for state in states)
