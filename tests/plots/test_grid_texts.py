"""Texts of any kind along the axes of a grid."""

from collections.abc import Sequence

import numpy as np
import pytest
from PySide6.QtCore import QPointF
from PySide6.QtWidgets import QWidget

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.token_charts import norms_chart
from bertviewer.core.util.text import isolated
from bertviewer.plots.grid_plot import GridPlot
from tests.charts.runs import make_run
from tests.plots.grids import grid_in, square
from tests.plots.looking import scene, set_ticks


@pytest.fixture
def plot(window: QWidget) -> GridPlot:
    return grid_in(window)


def labels(plot: GridPlot, side: str = "bottom") -> tuple[str, ...]:
    found: tuple[str, ...] = plot.area.getAxis(side).labels()
    return found


HOSTILE = (
    "<b>bold</b>",
    "<img src=x>",
    "&lt;&amp;",
    "注意力机制是什么意思呢",
    "x" * 200,
    "שלום עולם",
    "مرحبا",
    "\u202eabc",
    "a\nb\tc",
    "",
    "😀👩‍👩‍👧",
    "$x$",
    "\0",
)


def test_texts_of_any_kind_are_drawn_as_they_are(plot: GridPlot) -> None:
    plot.show_chart(norms_chart(make_run(HOSTILE, [[float(n) for n in range(len(HOSTILE))]] * 3)))
    for size in ((120, 90), (2000, 300), (640, 320)):
        plot.resize(*size)
        assert not plot.grab().isNull()
    shown = labels(plot)
    assert shown[:4] == ("<b>bold</…", "<img src=…", "&lt;&amp;", "注意力机制是什么意…")
    assert shown[4] == "xxxxxxxxx…"
    assert max(map(len, shown)) == 10
    for column, text in enumerate(HOSTILE):
        told = plot.text_at(scene(plot, column + 0.5, 0.5))
        assert told.startswith(f"embeddings, {isolated(text)} (token {column}): ")


def test_markup_is_drawn_as_text(plot: GridPlot) -> None:
    """Tags take room like other letters; as markup these two would look the same."""

    def picture(texts: Sequence[str]) -> bytes:
        plot.show_chart(norms_chart(make_run(texts)))
        image = plot.grab().toImage()
        return bytes(image.constBits())

    assert picture(["<b>a</b>", "b", "c"]) != picture(["<i>a</i>", "b", "c"])
    assert picture(["<b>a</b>", "b", "c"]) == picture(["<b>a</b>", "b", "c"])


def test_the_last_of_many_tokens(plot: GridPlot) -> None:
    tokens = 512
    texts = [f"t{number}" for number in range(tokens)]
    plot.show_chart(norms_chart(make_run(texts, [[1.0] * tokens, [2.0] * tokens])))
    last = plot.text_at(scene(plot, tokens - 0.5, 1.5))
    assert last == f"layer 0, t{tokens - 1} (token {tokens - 1}): 2"


def test_tokens_on_both_axes(plot: GridPlot) -> None:
    plot.show_chart(square(np.eye(200).tolist()))
    assert labels(plot, "left") == labels(plot) == tuple(f"t{n}" for n in range(200))
    shown = set_ticks(plot, "left")
    assert shown is not None
    assert 5 < len(shown) < 30
    assert shown[0] == (0.5, "t0")
    assert plot.place_at(QPointF(scene(plot, 3.5, 150.5))) == SelectionKey(token=150)
