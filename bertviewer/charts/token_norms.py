"""The norms of a run's tokens, hidden state by hidden state, as a chart."""

from collections.abc import Sequence

import numpy as np

from bertviewer.charts.chart import GridChart
from bertviewer.charts.place import Place
from bertviewer.charts.translation import Translate, english
from bertviewer.core.activations.activation_run import ActivationRun, Token
from bertviewer.core.analysis.token_classes import second_start
from bertviewer.core.text.text_direction import isolated


def norms_chart(run: ActivationRun, translate: Translate = english) -> GridChart:
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
        rows=state_labels(count, translate),
        columns=tuple(token.text for token in run.tokens),
        row_places=first,
        column_places=tuple(Place(token=n) for n in range(len(run.tokens))),
        x_title=translate("charts", "Token"),
        y_title=translate("charts", "Layer"),
        value_title=translate("charts", "Norm"),
        row_names=names_of_states(run, translate),
        column_names=token_names(run.tokens, translate),
        # A pair has two segments too, but one stack reads both.
        split=split if second != first else None,
        split_places=second if second != first else (),
        second_column=second_start(run.tokens),
    )


def state_labels(count: int, translate: Translate = english) -> tuple[str, ...]:
    """Return short names of hidden states: emb, 0, 1 and so on."""
    return (translate("charts", "emb"), *map(str, range(count - 1)))[:count]


def state_names(count: int, translate: Translate = english) -> tuple[str, ...]:
    """Return their names in words."""
    name = translate("charts", "layer {0}")
    return (
        translate("charts", "embeddings"),
        *map(name.format, range(count - 1)),
    )[:count]


def names_of_states(run: ActivationRun, translate: Translate = english) -> tuple[str, ...]:
    """Return the names of a run's hidden states in words.

    transformers takes GPT-2's last one after the final layer norm: "layer 11, after ln_f" is not
    what layer 11 gave.
    """
    return _with_norm(run, state_names(len(run.token_norms), translate), translate)


def state_ticks(run: ActivationRun, translate: Translate = english) -> tuple[str, ...]:
    """Return their short names, the last one with its norm likewise: "11, after ln_f"."""
    # Of states that differ in size there are norms alone.
    count = max(len(run.token_norms), len(run.hidden_states))
    return _with_norm(run, state_labels(count, translate), translate)


def _with_norm(run: ActivationRun, names: tuple[str, ...], translate: Translate) -> tuple[str, ...]:
    givers = run.state_paths[-1] if run.state_paths else ()
    # A layer is one of a list: there is a number in its path. What holds a single one is no norm.
    outside = [path for path in givers if path and not any(map(str.isdecimal, path.split(".")))]
    holders = {path for path in outside if any(m.path.startswith(f"{path}.") for m in run.modules)}
    after = dict.fromkeys(path.split(".")[-1] for path in outside if path not in holders)
    if len(names) < 2 or not after:
        return names
    form = translate("charts", "{0}, after {1}")
    return (*names[:-1], form.format(names[-1], " / ".join(after)))


def token_names(tokens: Sequence[Token], translate: Translate = english) -> tuple[str, ...]:
    """Return names that tell tokens of the same text apart."""
    name = translate("charts", "{0} (token {1})")
    return tuple(name.format(isolated(token.text), place) for place, token in enumerate(tokens))


def _places(run: ActivationRun, states: range, token: int) -> tuple[Place, ...]:
    return tuple(Place(run.state_path(state, token)) for state in states) if run.tokens else ()
