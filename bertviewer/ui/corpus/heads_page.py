"""Where the heads of all layers look in many sentences: a figure of each."""

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from bertviewer.charts.attention import head_measures_chart
from bertviewer.charts.corpus import corpus_heads
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.analysis.attention_maps import Measure, RankedHead, ranked_heads
from bertviewer.core.corpus.corpus import Corpus
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.util.numbers import number_text
from bertviewer.plots.pair_grid import PairGrid
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.choice_box import ChoiceBox
from bertviewer.ui.widgets.buttons import tool_button
from bertviewer.ui.widgets.layouts import hbox, named, vbox

_NAMES: dict[Measure, str] = {
    "entropy": QT_TRANSLATE_NOOP("HeadsPage", "entropy"),
    "distance": QT_TRANSLATE_NOOP("HeadsPage", "distance"),
    "cls": QT_TRANSLATE_NOOP("HeadsPage", "start token"),
    "sep": QT_TRANSLATE_NOOP("HeadsPage", "separators"),
}


class HeadsPage(QWidget):
    """Layers upwards, heads to the right; what is clicked is selected in the window.

    The heads at both ends are named, and lead to themselves.
    """

    def __init__(self, corpus: Corpus, architecture: Architecture, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._layers, self._figures = corpus_heads(architecture, corpus)
        self._ends: tuple[RankedHead, ...] = ()
        self._measure = ChoiceBox("corpusMeasure", self.tr("Measure shown for each head"))
        there = {name for each in self._figures.values() for name in each}
        for measure, name in _NAMES.items():
            if measure in there:
                self._measure.addItem(self.tr(name), measure)
        self._grid = named(PairGrid(), "corpusHeads")
        self._panel = ChartPanel(workspace, "", lambda: self._grid, (self._measure,))
        self._highest = tool_button("corpusHighest", "", self.tr("Select this head"))
        self._lowest = tool_button("corpusLowest", "", self.tr("Select this head"))
        for number, button in enumerate((self._highest, self._lowest)):
            button.setAutoRaise(True)
            button.clicked.connect(lambda _=False, end=-number: self._go(self._ends[end]))
        ends = hbox(self._highest, self._lowest, 1, spacing=8)
        vbox((self._panel, 1), ends, parent=self, margins=(0, 4, 0, 0), spacing=2)
        self._measure.currentIndexChanged.connect(self._show)
        self._grid.paired.connect(self._on_paired)
        workspace.selection.row_changed.connect(self._mark)
        self._show()

    @property
    def has_heads(self) -> bool:
        """Whether any was measured."""
        return bool(self._layers)

    def showEvent(self, event: QShowEvent) -> None:
        """Mark what was selected while this was out of sight; Qt calls it."""
        super().showEvent(event)
        self._mark()

    def _show(self) -> None:
        if not self._layers:
            return
        measure: Measure = self._measure.currentData()
        title = {
            "entropy": self.tr("Attention entropy per head, averaged over all tokens"),
            "distance": self.tr("Attention distance per head, averaged over all tokens"),
            "cls": self.tr("Attention to the start token per head, averaged over all tokens"),
            "sep": self.tr("Attention to separators per head, averaged over all tokens"),
        }[str(measure)]
        heads = ranked_heads(self._figures, measure)
        self._ends = heads[:1] + heads[-1:]
        for button, text, end in (
            (self._highest, self.tr("highest: {0}"), 0),
            (self._lowest, self.tr("lowest: {0}"), -1),
        ):
            button.setText(text.format(_words(self._ends[end])) if self._ends else "")
            button.setVisible(bool(self._ends))
        self._panel.set_title(title)
        name = self._measure.currentText()
        self._panel.show_charts(
            head_measures_chart(self._layers, self._figures, measure, name=name)
        )
        self._mark()

    def _mark(self) -> None:
        """Frame the row of the selected layer, or of the attention in it."""
        path = self._workspace.selection.place.path or ""
        rows = [
            row
            for row, layer in enumerate(self._layers)
            if f"{path}.".startswith(f"{layer.path}.") or f"{layer.path}.".startswith(f"{path}.")
        ]
        self._grid.mark_row(rows[0] if len(rows) == 1 else None)

    def _on_paired(self, row: int, column: int) -> None:
        self._workspace.selection.go(SelectionKey(self._layers[row].path, head=column))

    def _go(self, head: RankedHead) -> None:
        self._workspace.selection.go(SelectionKey(head.layer.path, head=head.head))


def _words(head: RankedHead) -> str:
    name = translate("HeadsPage", "{0}, head {1}").format(head.layer.name, head.head)
    return f"{name} · {number_text(head.value, 5)}"
