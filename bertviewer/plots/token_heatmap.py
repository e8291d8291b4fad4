"""Token norms layer by layer, as a heatmap with a colour bar."""

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Signal
from PySide6.QtWidgets import QWidget

from bertviewer.core.run.activation_run import ActivationRun
from bertviewer.plots.cells import Cells
from bertviewer.plots.plot import Plot
from bertviewer.plots.token_axis import TokenAxis

MAX_LAYERS = 13
MAX_LABEL_LENGTH = 10


class TokenHeatmap(Plot):
    """Tokens along x, hidden states along y from the embeddings up; ``cell_hovered`` has a text."""

    cell_hovered = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, axes={"bottom": TokenAxis("bottom")})
        self._run: ActivationRun | None = None
        self._norms = np.empty((0, 0))
        self.titles = {"bottom": "Token", "left": "Layer"}
        self._bar = pg.ColorBarItem(
            colorMap=pg.colormap.get(self.theme.colormap), interactive=False, width=12
        )
        self._bar.setImageItem([], insert_in=self.getPlotItem())
        # Its own gradient is a bitmap, on paper too.
        self._bar.bar.hide()
        self._bar.addItem(Cells(np.arange(256.0)[:, None], self.theme.colormap))
        self.adopt_menu(self._bar)
        self.scene().sigMouseMoved.connect(self._on_move)

    def show_run(self, run: ActivationRun | None) -> None:
        """Draw the token norms of a run, in place of those drawn before."""
        self._run = run
        rows = () if run is None else run.token_norms
        self._norms = np.array(
            [[np.nan if value is None else value for value in row] for row in rows], dtype=float
        )
        self.draw()

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
        return f"{token.text} (token {column}), {state}: {self._norms[row, column]:.7g}"

    def draw(self) -> None:
        """Draw the cells, the colour bar and the axes."""
        super().draw()
        theme, item = self.theme, self.getPlotItem()
        self._bar.axis.setTextPen(theme.foreground)
        self._bar.axis.setPen(theme.muted)
        if self._run is None or not self._norms.size:
            return
        rows, columns = self._norms.shape
        cells = Cells(self._norms, theme.colormap)
        item.addItem(cells)
        self._bar.setLevels((cells.low, cells.high))
        item.getAxis("bottom").set_labels(
            [
                (n + 0.5, shortened(token.text, MAX_LABEL_LENGTH))
                for n, token in enumerate(self._run.tokens)
            ]
        )
        states = [(0.5, "emb"), *((n + 0.5, str(n - 1)) for n in range(1, rows))]
        item.getAxis("left").setTicks([states[:: max(1, -(-rows // MAX_LAYERS))]])
        item.setRange(QRectF(0, 0, columns, rows), padding=0)

    def _on_move(self, position: QPointF) -> None:
        self.cell_hovered.emit(self.text_at(position) or "")


def shortened(text: str, length: int) -> str:
    """Return ``text``, its end cut off where it is longer than ``length`` characters."""
    return text if len(text) <= length else f"{text[: length - 1]}…"
