"""Token norms layer by layer, as a heatmap with a colour bar."""

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Signal
from PySide6.QtWidgets import QWidget

from bertviewer.core.activation_run import ActivationRun
from bertviewer.plots.cells import Cells
from bertviewer.plots.theme import LIGHT, PlotTheme
from bertviewer.plots.token_axis import TokenAxis

MAX_LABELS = 64
MAX_LABEL_LENGTH = 10


class TokenHeatmap(pg.PlotWidget):  # type: ignore[misc]
    """Tokens along x, hidden states along y from the embeddings up; ``cell_hovered`` has a text."""

    cell_hovered = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, axisItems={"bottom": TokenAxis("bottom")})
        self._run: ActivationRun | None = None
        self._theme = LIGHT
        self._norms = np.empty((0, 0))
        self._bar: pg.ColorBarItem | None = None
        item = self.getPlotItem()
        item.setMenuEnabled(False)
        item.hideButtons()
        item.setMouseEnabled(x=False, y=False)
        self.scene().sigMouseMoved.connect(self._on_move)

    def show_run(self, run: ActivationRun | None) -> None:
        """Draw the token norms of a run, in place of those drawn before."""
        self._run = run
        rows = () if run is None else run.token_norms
        self._norms = np.array(
            [[np.nan if value is None else value for value in row] for row in rows], dtype=float
        )
        self._draw()

    def set_theme(self, theme: PlotTheme) -> None:
        """Draw again in other colours."""
        self._theme = theme
        self._draw()

    def norms(self) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
        """Return what is drawn: [hidden states, tokens]."""
        return self._norms

    def text_at(self, position: QPointF) -> str | None:
        """Return the exact value of the cell at a position in the scene, in words."""
        if self._run is None or not self._norms.size:
            return None
        point = self.getPlotItem().vb.mapSceneToView(position)
        column, row = int(np.floor(point.x())), int(np.floor(point.y()))
        rows, columns = self._norms.shape
        if not (0 <= row < rows and 0 <= column < columns):
            return None
        token = self._run.tokens[column]
        state = "embeddings" if row == 0 else f"layer {row - 1}"
        return (
            f"‖h‖ of {token.text!r} (token {column}) after {state}: {self._norms[row, column]:.7g}"
        )

    def _draw(self) -> None:
        theme, item = self._theme, self.getPlotItem()
        self.setBackground(theme.background)
        item.clear()
        if self._bar is not None:
            item.layout.removeItem(self._bar)
            self.scene().removeItem(self._bar)
            self._bar = None
        if self._run is None or not self._norms.size:
            return
        rows, columns = self._norms.shape
        cells = Cells(self._norms, theme.colormap)
        item.addItem(cells)
        self._bar = pg.ColorBarItem(
            values=(cells.low, cells.high if cells.high > cells.low else cells.low + 1),
            colorMap=pg.colormap.get(theme.colormap),
            interactive=False,
            width=12,
        )
        self._bar.setImageItem([], insert_in=item)
        # Its own gradient is a bitmap, on paper too.
        self._bar.bar.hide()
        self._bar.addItem(Cells(np.arange(256.0)[:, None], theme.colormap))
        self._bar.axis.setTextPen(theme.foreground)
        self._bar.axis.setPen(theme.muted)
        self._draw_axes(rows, columns)

    def _draw_axes(self, rows: int, columns: int) -> None:
        theme, item = self._theme, self.getPlotItem()
        assert self._run is not None
        bottom, left = item.getAxis("bottom"), item.getAxis("left")
        step = max(1, -(-columns // MAX_LABELS))
        labels = [
            (column + 0.5, _short(self._run.tokens[column].text))
            for column in range(0, columns, step)
        ]
        bottom.set_labels(labels)
        states = [(0.5, "emb"), *((n + 0.5, str(n - 1)) for n in range(1, rows))]
        left.setTicks([states[:: max(1, -(-rows // 26))]])
        for axis, text in ((bottom, "Token"), (left, "Layer")):
            axis.setPen(theme.muted)
            axis.setTextPen(theme.foreground)
            axis.setLabel(text, color=theme.foreground)
        item.setRange(QRectF(0, 0, columns, rows), padding=0)

    def _on_move(self, position: QPointF) -> None:
        self.cell_hovered.emit(self.text_at(position) or "")


def _short(text: str) -> str:
    return text if len(text) <= MAX_LABEL_LENGTH else f"{text[: MAX_LABEL_LENGTH - 1]}…"
