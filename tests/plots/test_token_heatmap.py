"""The heatmap: which cell is where, what it says, and texts of any kind along its axis."""

import gc
import weakref
from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QImage, QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QGraphicsView, QWidget

from bertviewer.core.architecture import SourceInfo
from bertviewer.core.run.activation_run import ActivationRun, Sentence, Token
from bertviewer.plots.cells import Cells
from bertviewer.plots.theme import DARK, LIGHT
from bertviewer.plots.token_heatmap import TokenHeatmap

LOWEST, HIGHEST = "#440154", "#fde725"
NORMS = ((1.0, 1.25, 1.5), (2.0, 2.123456789, 2.5), (3.0, 3.5, 9.0))
TEXTS = ("[CLS]", "it's", "[SEP]")


def make_run(
    texts: Sequence[str] = TEXTS, norms: Sequence[Sequence[float | None]] = NORMS
) -> ActivationRun:
    return ActivationRun(
        source=SourceInfo("preset", "x", "base", "random"),
        sentence=Sentence("it's"),
        tokenizer="stand-in",
        tokens=tuple(Token(number, text, 0) for number, text in enumerate(texts)),
        modules=(),
        token_norms=tuple(map(tuple, norms)),
        seconds_forward=0.0,
        seconds_total=0.0,
    )


@pytest.fixture
def heatmap(window: QWidget) -> TokenHeatmap:
    heatmap = TokenHeatmap(window)
    heatmap.resize(640, 320)
    heatmap.show()
    heatmap.show_run(make_run())
    heatmap.grab()
    return heatmap


def scene(heatmap: TokenHeatmap, x: float, y: float) -> QPointF:
    position: QPointF = heatmap.getPlotItem().vb.mapViewToScene(QPointF(x, y))
    return position


def pixel(heatmap: TokenHeatmap, x: float, y: float) -> QPoint:
    position: QPoint = heatmap.mapFromScene(scene(heatmap, x, y))
    return position


def hover(plot: QGraphicsView, place: QPoint) -> None:
    """Move the mouse there; QTest's own way moves the screen's cursor, and this has no screen."""
    QTest.qWait(20)  # pyqtgraph drops moves that follow one another too fast
    at = QPointF(place)
    event = QMouseEvent(
        QEvent.Type.MouseMove,
        at,
        QPointF(plot.viewport().mapToGlobal(place)),
        Qt.MouseButton.NoButton,
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
    )
    QApplication.sendEvent(plot.viewport(), event)


def colors(plot: QGraphicsView) -> set[str]:
    """Return all colours in the plot's picture."""
    image = plot.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    pixels = np.frombuffer(image.constBits(), dtype=np.uint32)
    return {f"#{int(pixel) & 0xFFFFFF:06x}" for pixel in np.unique(pixels)}


def color(heatmap: TokenHeatmap, x: float, y: float) -> str:
    name: str = heatmap.grab().toImage().pixelColor(pixel(heatmap, x, y)).name()
    return name


CELLS = (
    (0.5, 0.5, "[CLS] (token 0), embeddings: 1"),
    (1.5, 0.01, "it's (token 1), embeddings: 1.25"),
    (1.01, 1.5, "it's (token 1), layer 0: 2.123457"),
    (2.99, 2.99, "[SEP] (token 2), layer 1: 9"),
    (0.01, 2.01, "[CLS] (token 0), layer 1: 3"),
    (-0.01, 0.5, None),
    (3.01, 0.5, None),
    (0.5, -0.01, None),
    (0.5, 3.01, None),
)


def test_text_of_a_cell(heatmap: TokenHeatmap) -> None:
    for x, y, text in CELLS:
        assert heatmap.text_at(scene(heatmap, x, y)) == text, (x, y)


def test_hovering_tells_the_cell_and_leaving_it_clears(heatmap: TokenHeatmap) -> None:
    told: list[str] = []
    heatmap.cell_hovered.connect(told.append)
    hover(heatmap, pixel(heatmap, 2.5, 2.5))
    hover(heatmap, pixel(heatmap, 0.5, 0.5))
    hover(heatmap, QPoint(3, 3))
    assert told == ["[SEP] (token 2), layer 1: 9", "[CLS] (token 0), embeddings: 1", ""]


def test_embeddings_are_at_the_bottom(heatmap: TokenHeatmap) -> None:
    assert pixel(heatmap, 0.5, 0.5).y() > pixel(heatmap, 0.5, 2.5).y()
    assert color(heatmap, 0.5, 0.5) == LOWEST
    assert color(heatmap, 2.5, 2.5) == HIGHEST
    assert color(heatmap, 0.5, 2.5) not in (LOWEST, HIGHEST, LIGHT.background)
    assert np.array_equal(heatmap.norms(), np.array(NORMS))


def test_a_missing_norm_stays_empty(heatmap: TokenHeatmap) -> None:
    heatmap.show_run(make_run(norms=((1.0, 2.0, 3.0), (None, 4.0, None))))
    assert color(heatmap, 0.5, 1.5) == LIGHT.background
    assert color(heatmap, 1.5, 1.5) == HIGHEST
    assert np.isnan(heatmap.norms()[1, 0])
    text = heatmap.text_at(scene(heatmap, 0.5, 1.5))
    assert text == "[CLS] (token 0), layer 0: nan"


def test_drawing_twice_does_not_pile_up(heatmap: TokenHeatmap) -> None:
    items, total = len(heatmap.getPlotItem().items), len(heatmap.scene().items())
    for theme in (DARK, LIGHT, DARK):
        heatmap.set_theme(theme)
        heatmap.show_run(make_run())
    assert len(heatmap.getPlotItem().items) == items == 1
    assert len(heatmap.scene().items()) == total
    bars = [item for item in heatmap.scene().items() if isinstance(item, pg.ColorBarItem)]
    assert len(bars) == 1


def test_old_cells_are_let_go(heatmap: TokenHeatmap) -> None:
    (old,) = (weakref.ref(i) for i in heatmap.getPlotItem().items if isinstance(i, Cells))
    heatmap.show_run(make_run())
    gc.collect()
    assert old() is None


def test_the_theme_changes_the_colours(heatmap: TokenHeatmap) -> None:
    assert LIGHT.background in colors(heatmap)
    heatmap.set_theme(DARK)
    found = colors(heatmap)
    assert DARK.background in found
    assert LIGHT.background not in found
    assert color(heatmap, 2.5, 2.5) == HIGHEST


def test_the_bar_has_the_range(heatmap: TokenHeatmap) -> None:
    assert heatmap._bar.levels() == (1.0, 9.0)
    heatmap.show_run(make_run(norms=((4.0, 5.0, 6.0),)))
    assert heatmap._bar.levels() == (4.0, 6.0)


def test_another_run_has_its_own_size(heatmap: TokenHeatmap) -> None:
    heatmap.show_run(make_run(["a", "b"], [[1.0, 2.0]] * 5))
    (left, right), (bottom, top) = heatmap.getPlotItem().vb.viewRange()
    assert (left, right, bottom, top) == (0, 2, 0, 5)
    assert heatmap.text_at(scene(heatmap, 1.5, 4.5)) == "b (token 1), layer 3: 2"
    assert heatmap.text_at(scene(heatmap, 2.5, 0.5)) is None


def test_no_run_is_empty(heatmap: TokenHeatmap) -> None:
    before = scene(heatmap, 1.5, 1.5)
    heatmap.show_run(None)
    assert heatmap.norms().size == 0
    assert heatmap.text_at(before) is None
    assert heatmap.getPlotItem().items == []
    heatmap.show_run(make_run(norms=()))
    assert heatmap.text_at(before) is None


def labels(heatmap: TokenHeatmap) -> list[str]:
    return [text for _, text in heatmap.getPlotItem().getAxis("bottom")._labels]


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


def test_texts_of_any_kind_are_drawn_as_they_are(heatmap: TokenHeatmap) -> None:
    heatmap.show_run(make_run(HOSTILE, [[float(n) for n in range(len(HOSTILE))]] * 3))
    for size in ((120, 90), (2000, 300), (640, 320)):
        heatmap.resize(*size)
        assert not heatmap.grab().isNull()
    shown = labels(heatmap)
    assert shown[:4] == ["<b>bold</…", "<img src=…", "&lt;&amp;", "注意力机制是什么意…"]
    assert shown[4] == "xxxxxxxxx…"
    assert max(map(len, shown)) == 10
    for column, text in enumerate(HOSTILE):
        told = heatmap.text_at(scene(heatmap, column + 0.5, 0.5))
        assert told is not None
        assert told.startswith(f"{text} (token {column}), embeddings: ")


def test_markup_is_drawn_as_text(heatmap: TokenHeatmap) -> None:
    """Tags take room like other letters; as markup these two would look the same."""

    def picture(texts: Sequence[str]) -> bytes:
        heatmap.show_run(make_run(texts))
        image = heatmap.grab().toImage()
        return bytes(image.constBits())

    assert picture(["<b>a</b>", "b", "c"]) != picture(["<i>a</i>", "b", "c"])
    assert picture(["<b>a</b>", "b", "c"]) == picture(["<b>a</b>", "b", "c"])


def test_the_last_of_many_tokens(heatmap: TokenHeatmap) -> None:
    tokens = 512
    texts = [f"t{number}" for number in range(tokens)]
    heatmap.show_run(make_run(texts, [[1.0] * tokens, [2.0] * tokens]))
    last = heatmap.text_at(scene(heatmap, tokens - 0.5, 1.5))
    assert last == f"t{tokens - 1} (token {tokens - 1}), layer 0: 2"


def test_many_layers_have_fewer_numbers(heatmap: TokenHeatmap) -> None:
    for states, shown in ((1, 1), (13, 13), (25, 13), (27, 9)):
        heatmap.show_run(make_run(norms=[[1.0, 2.0, 3.0]] * states))
        (ticks,) = heatmap.getPlotItem().getAxis("left")._tickLevels
        assert len(ticks) == shown
        assert ticks[0] == (0.5, "emb")
        assert all(place == int(text) + 1.5 for place, text in ticks[1:])
