"""The norms of a run's tokens, hidden state by hidden state, as a chart."""

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QCoreApplication

from bertviewer.core.run.activation_run import ActivationRun, Token
from bertviewer.plots.chart import GridChart, Place


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
        rows=state_labels(count),
        columns=tuple(token.text for token in run.tokens),
        row_places=first,
        column_places=tuple(Place(token=n) for n in range(len(run.tokens))),
        x_title=QCoreApplication.translate("charts", "Token"),
        y_title=QCoreApplication.translate("charts", "Layer"),
        value_title=QCoreApplication.translate("charts", "Norm"),
        row_names=state_names(count),
        column_names=token_names(run.tokens),
        # A pair has two segments too, but one stack reads both.
        split=split if second != first else None,
        split_places=second if second != first else (),
    )


def state_labels(count: int) -> tuple[str, ...]:
    """Return short names of hidden states: emb, 0, 1 and so on."""
    return (QCoreApplication.translate("charts", "emb"), *map(str, range(count - 1)))[:count]


def state_names(count: int) -> tuple[str, ...]:
    """Return their names in words."""
    name = QCoreApplication.translate("charts", "layer {0}")
    return (
        QCoreApplication.translate("charts", "embeddings"),
        *map(name.format, range(count - 1)),
    )[:count]


def token_names(tokens: Sequence[Token]) -> tuple[str, ...]:
    """Return names that tell tokens of the same text apart."""
    name = QCoreApplication.translate("charts", "{0} (token {1})")
    return tuple(name.format(token.text, place) for place, token in enumerate(tokens))


def _places(run: ActivationRun, states: range, token: int) -> tuple[Place, ...]:
    return tuple(Place(run.state_path(state, token)) for state in states) if run.tokens else ()
