"""How far each tensor of two models moved, as a grid: layer × kind of tensor."""

from collections.abc import Mapping, Sequence
from math import log10
from typing import Literal

import numpy as np

from bertviewer.charts.levels import Levels, Values
from bertviewer.charts.marked_grid import LONGEST_LABEL, CellNote, MarkedGrid
from bertviewer.charts.place import Place
from bertviewer.charts.tensor_places import tensor_places
from bertviewer.charts.translation import translate
from bertviewer.core.comparison.comparison import Change, ComparedTensor, Comparison, State
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.util.numbers import number_text
from bertviewer.core.util.text import printable

ChangeMeasure = Literal["relative", "max", "rms", "cosine"]
CHANGE_MEASURES: tuple[ChangeMeasure, ...] = ("relative", "max", "rms", "cosine")
TITLES: Mapping[ChangeMeasure, str] = {
    "relative": "‖Δ‖ / ‖left‖",
    "max": "max |Δ|",
    "rms": "RMS Δ",
    "cosine": "1 − cosine",
}
SIGNS: Mapping[State, str] = {
    "same": "=",
    "other shape": "≠",
    "only left": "L",
    "only right": "R",
    "not compared": "?",
    "changed": "–",
}
"""What is drawn where there is no value; of what changed where the measure is not defined."""
_WORDS: Mapping[State, str] = {
    "same": "identical",
    "other shape": "different shape",
    "only left": "only on the left",
    "only right": "only on the right",
    "not compared": "not compared",
    "changed": "changed, not measurable",
}
LEAST_SHARE = 0.04
USUAL, MOST_ABOVE = 0.9, 10.0
"""Colours end at so many times of what such a part of the values is below, at the latest."""
FAINTEST = 1e-9
"""Colours begin at this part of the largest value at the lowest."""


def change_grid(
    comparison: Comparison, measure: ChangeMeasure = "relative", *, has_places: bool = True
) -> MarkedGrid:
    """Return the changes; without places nothing is selected with a cell."""
    places = tensor_places([tensor.name for tensor in comparison.tensors])
    values = np.full((len(places.rows), len(places.columns)), np.nan)
    notes, seen = {}, set()
    for tensor in comparison.tensors:
        cell = places.cells[tensor.name]
        state = tensor.state
        value = None if state == "same" or tensor.change is None else of(tensor.change, measure)
        sign = "" if value is not None and np.isfinite(value) else SIGNS[state]
        if sign:
            seen.add(state)
        elif value is not None:
            values[cell] = value
        word = translate("charts", _WORDS[state])
        path = tensor.name.rpartition(".")[0]
        place = Place(path) if has_places else Place()
        text = _told(tensor, value if not sign else None, word, measure)
        notes[cell] = CellNote(tensor.name, text, sign, word, place)
    signs = [(SIGNS[state], translate("charts", _WORDS[state])) for state in SIGNS if state in seen]
    whole, title = translate("charts", "model"), measure_title(measure)
    return MarkedGrid(
        values=values,
        rows=tuple(_end(label) or whole for label in places.row_labels),
        columns=tuple(map(_end, places.column_labels)),
        x_title=translate("charts", "Tensor"),
        y_title=translate("charts", "Module"),
        value_title=title,
        scale_title=translate("charts", "{0} (log scale)").format(title),
        is_top_down=True,
        levels=log_levels(values),
        row_names=tuple(printable(row) or whole for row in places.rows),
        column_names=tuple(map(printable, places.columns)),
        notes=notes,
        signs=tuple(signs),
        is_log=True,
    )


def measure_title(measure: ChangeMeasure) -> str:
    """Return what a measure is called."""
    return translate("charts", TITLES[measure])


def of(change: Change, measure: ChangeMeasure) -> float | None:
    """Return one measure of a change."""
    if measure == "cosine":
        return None if change.cosine is None else 1 - change.cosine
    return {"relative": change.relative, "max": change.max_abs, "rms": change.rms}[measure]


def _told(tensor: ComparedTensor, value: float | None, word: str, measure: ChangeMeasure) -> str:
    """Return a tensor's name, what became of it, and all figures that there are."""
    lines = [printable(tensor.name)]
    shapes = [shape_text(side.shape) for side in (tensor.left, tensor.right) if side is not None]
    lines.append(" → ".join(dict.fromkeys(shapes)))
    if value is None:
        lines.append(word)
    if tensor.change is not None and tensor.state == "changed":
        measures = (measure, *(each for each in CHANGE_MEASURES if each != measure))
        for each in measures:
            figure = of(tensor.change, each)
            if figure is not None:
                lines.append(f"{measure_title(each)} = {number_text(figure)}")
        changed = tensor.change.count - tensor.change.equal
        text = translate("charts", "{0} of {1} elements changed")
        lines.append(text.format(f"{changed:,}", f"{tensor.change.count:,}"))
    return "\n".join(lines)


def _end(label: str) -> str:
    """Return a label cut at its beginning: of paths the ends say most."""
    label = printable(label)
    return label if len(label) <= LONGEST_LABEL else f"…{label[1 - LONGEST_LABEL :]}"


def log_levels(values: Sequence[float] | Values) -> Levels:
    """Return the least and the largest value above 0, with a power of ten between them at least.

    What is far larger than most has the colour of the upper end: one tiny tensor that moved by
    many times its own size would leave all others in one shade.
    """
    found = np.asarray(values, dtype=np.float64)
    above = found[np.isfinite(found) & (found > 0)]
    if not above.size:
        return 0.1, 1.0
    high = min(float(above.max()), MOST_ABOVE * float(np.quantile(above, USUAL)))
    return max(min(float(above.min()), high / 10), high * FAINTEST), high


def log_share(value: float, levels: Levels) -> float:
    """Return how far up a value stands, a little for the least one, 0 for none."""
    if not value > 0:
        return 0.0
    low, high = map(log10, levels)
    share = (log10(value) - low) / (high - low)
    return min(1.0, max(0.0, LEAST_SHARE + (1 - LEAST_SHARE) * share))
