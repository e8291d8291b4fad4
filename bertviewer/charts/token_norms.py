"""The norms of a run's tokens as charts: in its hidden states, and in one part of every layer."""

from collections.abc import Sequence

import numpy as np

from bertviewer.charts.chart import GridChart
from bertviewer.charts.layers import Measured
from bertviewer.charts.levels import Values
from bertviewer.charts.naming import axis_labels, names_of_states, state_names, token_names
from bertviewer.charts.place import Place
from bertviewer.charts.translation import translate
from bertviewer.core.analysis.layers import Series
from bertviewer.core.analysis.tokens import text_starts
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.tensors.axes import tokens_of_rows


def norms_chart(run: ActivationRun) -> GridChart:
    """Return ‖h‖ of every token (columns) in every hidden state (rows, the embeddings first)."""
    count = len(run.token_norms)
    split = next((n for n, token in enumerate(run.tokens) if token.segment == 1), None)
    states = range(count)
    first = _places(run, states, 0)
    second = () if split is None else _places(run, states, split)
    return GridChart(
        values=np.array(
            [[np.nan if value is None else value for value in row] for row in run.token_norms],
            dtype=np.float64,
        ).reshape(count, -1 if count else 0),
        rows=axis_labels(run),
        columns=tuple(token.text for token in run.tokens),
        row_places=first,
        column_places=tuple(Place(token=n) for n in range(len(run.tokens))),
        x_title=translate("charts", "Token"),
        y_title=translate("charts", "Layer"),
        value_title=translate("charts", "Norm"),
        row_names=names_of_states(run),
        column_names=token_names(run.tokens),
        # A pair has two segments too, but one stack reads both.
        split=split if second != first else None,
        split_places=second if second != first else (),
        column_starts=text_starts(run.tokens),
    )


def _places(run: ActivationRun, states: range, token: int) -> tuple[Place, ...]:
    return tuple(Place(run.state_path(state, token)) for state in states) if run.tokens else ()


def part_norms_chart(
    run: ActivationRun, series: Sequence[Series], measured: Measured | None = None
) -> GridChart:
    """Return the norms of every token (columns) in a part of every layer (rows).

    An encoder's part and a decoder's have the columns of their own tokens. ``measured`` is asked
    for the calls before the last one, which the run has no norms of; without it they stay empty.
    """
    count = max((len(one.paths) for one in series), default=0)
    values = np.full((count, len(run.tokens)), np.nan)
    places: list[list[Place]] = [[Place()] * count, [Place()] * count]
    split = next((n for n, token in enumerate(run.tokens) if token.segment == 1), None)
    for one in series:
        for row, (path, call) in enumerate(one.points()):
            norms = _norms(run, path, call, measured or {})
            tokens = None if norms is None else tokens_of_rows(run, path, len(norms))
            if norms is None or tokens is None:
                continue
            values[row, tokens.start : tokens.stop] = norms
            for side in (0, 1) if len(tokens) == len(run.tokens) else (int(tokens.start > 0),):
                places[side][row] = Place(path)
    is_split = split is not None and places[0] != places[1]
    return GridChart(
        values=values,
        rows=tuple(map(str, range(count))),
        columns=tuple(token.text for token in run.tokens),
        row_places=tuple(places[0]),
        column_places=tuple(Place(token=n) for n in range(len(run.tokens))),
        x_title=translate("charts", "Token"),
        y_title=translate("charts", "Layer"),
        value_title=translate("charts", "Norm"),
        row_names=state_names(count + 1)[1:],
        column_names=token_names(run.tokens),
        split=split if is_split else None,
        split_places=tuple(places[1]) if is_split else (),
        subject=", ".join(dict.fromkeys(one.part for one in series if one.part)),
        column_starts=text_starts(run.tokens),
    )


def has_norms(run: ActivationRun, series: Sequence[Series]) -> bool:
    """Return whether the run itself has the norms of some of these modules."""
    return any(
        (norms := _norms(run, path, -1, {})) is not None
        and tokens_of_rows(run, path, len(norms)) is not None
        for one in series
        for path in dict.fromkeys(one.paths)
    )


def _norms(run: ActivationRun, path: str, call: int, measured: Measured) -> Values | None:
    calls = measured.get(path, ())
    if 0 <= call < len(calls):
        return calls[call].norms
    activation = run.activation(path)
    if activation is None or call not in (-1, len(activation.calls) - 1):
        return None
    return activation.token_norms
