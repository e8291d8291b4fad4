"""Pages of the corpus window: layers, values, heads, outlier features, and a comparison."""

from collections.abc import Callable, Iterable

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from bertviewer.charts.attention import head_measures_chart
from bertviewer.charts.corpus import (
    compared_features,
    compared_heads,
    compared_modules,
    corpus_heads,
    corpus_histogram,
    corpus_statistics,
    outlier_chart,
    outlier_table,
    quantile_chart,
)
from bertviewer.charts.layers import layer_chart, selected_series
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.analysis.attention_maps import Measure, RankedHead, ranked_heads
from bertviewer.core.corpus.comparison import CorpusComparison
from bertviewer.core.corpus.corpus import FEW_SENTENCES, ClassSums, Corpus, as_run, outlier_rows
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.schema.statistics import STATISTIC_NAMES
from bertviewer.core.statistics.accumulators import DEVIATIONS
from bertviewer.core.util.numbers import count_text, number_text
from bertviewer.core.util.text import printable
from bertviewer.plots.canvas_plot import CanvasPlot
from bertviewer.plots.heatmap import Heatmap
from bertviewer.plots.histogram_plot import HistogramPlot
from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.choice_box import ChoiceBox
from bertviewer.ui.views.empty_state import EmptyState
from bertviewer.ui.views.figure_view import FigureView
from bertviewer.ui.widgets.buttons import tool_button
from bertviewer.ui.widgets.labels import muted_label
from bertviewer.ui.widgets.layouts import STRETCH, hbox, named, split, vbox

ALL_TOKENS = ""
_TOKEN_CLASSES = {
    ALL_TOKENS: QT_TRANSLATE_NOOP("ValuesPage", "all tokens"),
    "content": QT_TRANSLATE_NOOP("ValuesPage", "content"),
    "cls": QT_TRANSLATE_NOOP("ValuesPage", "start tokens"),
    "sep": QT_TRANSLATE_NOOP("ValuesPage", "separators"),
    "mask": QT_TRANSLATE_NOOP("ValuesPage", "masks"),
    "special": QT_TRANSLATE_NOOP("ValuesPage", "other special"),
}
_MEASURES: dict[Measure, tuple[str, str]] = {
    "entropy": (
        QT_TRANSLATE_NOOP("HeadsPage", "entropy"),
        QT_TRANSLATE_NOOP("HeadsPage", "Attention entropy per head, averaged over all tokens"),
    ),
    "distance": (
        QT_TRANSLATE_NOOP("HeadsPage", "distance"),
        QT_TRANSLATE_NOOP("HeadsPage", "Attention distance per head, averaged over all tokens"),
    ),
    "cls": (
        QT_TRANSLATE_NOOP("HeadsPage", "start token"),
        QT_TRANSLATE_NOOP(
            "HeadsPage", "Attention to the start token per head, averaged over all tokens"
        ),
    ),
    "sep": (
        QT_TRANSLATE_NOOP("HeadsPage", "separators"),
        QT_TRANSLATE_NOOP(
            "HeadsPage", "Attention to separators per head, averaged over all tokens"
        ),
    ),
}
MAX_COLUMNS = 24  # features in the grid of outliers
STATISTICS_WIDTH = 250  # pixels
PATH_WIDTH = 260  # pixels: the paths of two layers differ by a number in the middle


class _ChartPage(QWidget):
    """Chart with a choice above it; redrawn, when visible, for the selected module."""

    def __init__(
        self, workspace: Workspace, plot: Callable[[], CanvasPlot], choice: ChoiceBox
    ) -> None:
        super().__init__()
        self.workspace, self.choice = workspace, choice
        self.panel = ChartPanel(workspace, "", plot, (choice,))
        choice.currentIndexChanged.connect(self.draw)
        workspace.selection.row_changed.connect(self._on_row)

    def draw(self) -> None:
        """Show the chart of the choice and of the selected module."""
        raise NotImplementedError

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.draw()

    def _on_row(self) -> None:
        if self.isVisible():
            self.draw()


class LayersPage(_ChartPage):
    """Quantiles or a statistic of each layer's output, and of the selected part of a layer."""

    def __init__(self, corpus: Corpus, architecture: Architecture, workspace: Workspace) -> None:
        items = (self.tr("quantiles"), ""), *((name, name) for name in STATISTIC_NAMES)
        choice = _choice("corpusStatistic", self.tr("Statistic shown per layer"), items)
        super().__init__(workspace, lambda: named(LinePlot(), "corpusLayers"), choice)
        self._corpus, self._architecture, self._run = corpus, architecture, as_run(corpus)
        self._drawn: object = None
        vbox(self.panel, parent=self, margins=(0, 4, 0, 0))

    @override
    def draw(self) -> None:
        path, statistic = self.workspace.selection.place.path or "", self.choice.currentData()
        key = statistic, selected_series(self._architecture, self._run, path)
        if key == self._drawn:
            return
        self._drawn = key
        if statistic:
            title = self.tr("{0} of each layer’s output, over all tokens").format(statistic)
            chart = layer_chart(self._architecture, self._run, statistic, path)
        else:
            title = self.tr("Each layer’s output: median and 5%–95% range of the values")
            chart = quantile_chart(self._architecture, self._corpus, path)
        self.panel.set_title(title)
        self.panel.show_charts(chart)


class ValuesPage(_ChartPage):
    """Histogram and statistics of the selected module's output, at all tokens or one class."""

    def __init__(self, corpus: Corpus, workspace: Workspace) -> None:
        classes = {ALL_TOKENS, *(row.token_class for row in corpus.rows)}
        titles = _TOKEN_CLASSES.items()
        items = ((translate("ValuesPage", title), key) for key, title in titles if key in classes)
        choice = _choice("corpusTokens", self.tr("Tokens whose values are shown"), items)
        super().__init__(workspace, lambda: named(HistogramPlot(), "corpusValues"), choice)
        self._corpus = corpus
        self._table = FigureView(
            workspace, "corpusStatistics", self.tr("Statistics and quantiles of the values")
        )
        columns = split(self.panel, self._table, sizes=(800, STATISTICS_WIDTH))
        columns.setStretchFactor(0, 1)
        columns.setStretchFactor(1, 0)
        hbox(columns, parent=self, margins=(0, 4, 0, 0))
        self.draw()

    @override
    def draw(self) -> None:
        row = self.workspace.selection.row
        path = "" if row is None else row.node.path
        name = path or (row.node.class_name if row is not None else self.tr("the model"))
        values = self._values(path)
        chart = None if values is None else corpus_histogram(values)
        self._table.setVisible(values is not None)
        if values is not None:
            self._table.show_table(corpus_statistics(values))
        self.panel.set_title(
            self.tr("Output of {0}").format(name),
            self.tr("The outermost 0.1% at each end is omitted. Areas are shares of all values."),
        )
        if chart is not None:
            self.panel.show_charts(chart)
        else:
            self.panel.show_message(self._why_empty(values, name))

    def _values(self, path: str) -> ClassSums | None:
        """Return the sums of a module at the chosen tokens, over all of its calls."""
        chosen = self.choice.currentData()
        if chosen == ALL_TOKENS:
            return self._corpus.of(path)
        found: ClassSums | None = None
        for row in self._corpus.rows:
            if (row.path, row.token_class) == (path, chosen):
                found = row if found is None else found.merge(row)
        return found

    def _why_empty(self, values: ClassSums | None, name: str) -> str:
        if values is None or not values.count:
            text = self.tr("No values of {0} were recorded at these tokens. Select another module.")
            return text.format(name)
        if values.min is None:
            return self.tr("No value of {0} is finite.").format(name)
        median = (values.quantiles((0.5,)) or (values.min,))[0]
        return self.tr("Nearly all values of {0} are {1}.").format(name, number_text(median))


class HeadsPage(_ChartPage):
    """Grid of a measure of all heads, layers upwards; clicks select the head.

    The heads with the highest and lowest value are named, and selected by their buttons.
    """

    def __init__(self, corpus: Corpus, architecture: Architecture, workspace: Workspace) -> None:
        self._layers, self._figures = corpus_heads(architecture, corpus)
        known = {name for each in self._figures.values() for name in each}
        items = (
            (translate("HeadsPage", _MEASURES[key][0]), key) for key in _MEASURES if key in known
        )
        choice = _choice("corpusMeasure", self.tr("Measure shown for each head"), items)
        self._grid = named(Heatmap(selects_pairs=True), "corpusHeads")
        super().__init__(workspace, lambda: self._grid, choice)
        self._grid.paired.connect(
            lambda row, head: workspace.selection.go(
                SelectionKey(self._layers[row].path, head=head)
            )
        )
        self._extremes: tuple[RankedHead, ...] = ()
        tooltip = self.tr("Select this head")
        self._buttons = [
            tool_button(name, "", tooltip) for name in ("corpusHighest", "corpusLowest")
        ]
        for number, button in enumerate(self._buttons):
            button.setAutoRaise(True)
            button.clicked.connect(lambda _=False, end=-number: self._go(self._extremes[end]))
        buttons = hbox(*self._buttons, STRETCH, spacing=8)
        vbox((self.panel, 1), buttons, parent=self, margins=(0, 4, 0, 0), spacing=2)
        self._drawn: Measure | None = None
        self.draw()

    @property
    def has_heads(self) -> bool:
        """Whether any head was measured."""
        return bool(self._layers)

    @override
    def draw(self) -> None:
        measure: Measure | None = self.choice.currentData()
        if measure is None:
            return
        if measure != self._drawn:
            self._drawn = measure
            self._draw_measure(measure)
        self._mark_layer()

    def _draw_measure(self, measure: Measure) -> None:
        heads = ranked_heads(self._figures, measure)
        self._extremes = heads[:1] + heads[-1:]
        texts = self.tr("highest: {0}"), self.tr("lowest: {0}")
        for end, (button, text) in enumerate(zip(self._buttons, texts, strict=True)):
            button.setText(text.format(_head_text(self._extremes[-end])) if heads else "")
            button.setVisible(bool(heads))
        self.panel.set_title(translate("HeadsPage", _MEASURES[measure][1]))
        name = self.choice.currentText()
        self.panel.show_charts(head_measures_chart(self._layers, self._figures, measure, name=name))

    def _mark_layer(self) -> None:
        """Frame the row of the selected layer, or of the attention module in it."""
        path = f"{self.workspace.selection.place.path or ''}."
        layers = [f"{layer.path}." for layer in self._layers]
        rows = [
            n for n, layer in enumerate(layers) if path.startswith(layer) or layer.startswith(path)
        ]
        self._grid.mark_row(rows[0] if len(rows) == 1 else None)

    def _go(self, head: RankedHead) -> None:
        self.workspace.selection.go(SelectionKey(head.layer.path, head=head.head))


class OutliersPage(QWidget):
    """Table of the outlier features, and a grid of the first of them by hidden state."""

    def __init__(self, corpus: Corpus, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        assert corpus.outliers is not None
        rows = outlier_rows(corpus)
        rule = self.tr(
            "A feature is an outlier of a sentence’s hidden state if a token’s value is "
            "more than {0} standard deviations from the state’s mean. Features that are "
            "outliers in at least {1} of the sentences are shown."
        ).format(f"{DEVIATIONS:g}", f"{100 * FEW_SENTENCES:g}%")
        if not rows:
            message = EmptyState("corpusNoOutliers")
            message.show_message(self.tr("No outlier features.\n{0}").format(rule))
            vbox(message, parent=self)
            return
        self._features = [row.feature for row in rows]
        self._table = FigureView(workspace, "corpusOutliers", self.tr("Outlier features"))
        self._table.show_table(outlier_table(corpus, rows))
        self._table.chosen.connect(workspace.selection.go)
        title = self.tr("Share of sentences in which each feature is an outlier")
        grid = ChartPanel(workspace, title, Heatmap)
        grid.setContentsMargins(12, 0, 0, 0)
        named(grid.plot, "corpusOutlierGrid")
        grid.show_charts(outlier_chart(corpus, corpus.outliers, self._features[:MAX_COLUMNS]))
        parts = split(self._table, grid, sizes=(500, 470))
        vbox(muted_label(rule), (parts, 1), parent=self, margins=(0, 8, 0, 0), spacing=8)
        workspace.selection.feature_changed.connect(self._mark_feature)
        self._mark_feature()

    def _mark_feature(self) -> None:
        feature = self._workspace.selection.feature
        self._table.mark(self._features.index(feature) if feature in self._features else None)


class ComparisonPage(QWidget):
    """The modules, heads or outlier features that differ most between two corpora."""

    def __init__(self, comparison: CorpusComparison, workspace: Workspace) -> None:
        super().__init__()
        tables = (
            (self.tr("modules"), compared_modules(comparison)),
            (self.tr("heads"), compared_heads(comparison)),
            (self.tr("outlier features"), compared_features(comparison)),
        )
        items = ((title, table) for title, table in tables if table.rows)
        self._choice = _choice("comparedCorpora", self.tr("What to compare"), items)
        title = self.tr("Differences between the two corpora")
        self._view = FigureView(workspace, "comparedFigures", title, min_text=PATH_WIDTH)
        self._view.chosen.connect(workspace.selection.go)
        self._choice.currentIndexChanged.connect(self._draw)
        text = self.tr("Left: {0}\nRight: {1}\nLargest differences first.").format(
            *(
                f"{printable(SourceInfo.from_json(corpus.manifest['source']).name)} · "
                f"{corpus_text(corpus)}"
                for corpus in (comparison.left, comparison.right)
            )
        )
        head = hbox((named(muted_label(text), "comparedSides"), 1), self._choice, spacing=8)
        vbox(head, (self._view, 1), parent=self, margins=(0, 8, 0, 0), spacing=8)
        self._draw()

    def _draw(self) -> None:
        if self._choice.count():
            self._view.show_table(self._choice.currentData())


def corpus_text(corpus: Corpus) -> str:
    """Return the number of sentences and tokens, and the names of the files."""
    tokens = translate("CorpusWindow", "{0} token"), translate("CorpusWindow", "{0} tokens")
    files = (printable(str(file["name"])) for file in corpus.manifest.get("data", ()))
    return " · ".join(
        (sentences_text(corpus.sentences), count_text(corpus.tokens, *tokens), *files)
    )


def sentences_text(count: int) -> str:
    """Return a number of sentences."""
    texts = translate("CorpusWindow", "{0} sentence"), translate("CorpusWindow", "{0} sentences")
    return count_text(count, *texts)


def _choice(name: str, purpose: str, items: Iterable[tuple[str, object]]) -> ChoiceBox:
    choice = ChoiceBox(name, purpose)
    for title, data in items:
        choice.addItem(title, data)
    return choice


def _head_text(head: RankedHead) -> str:
    name = translate("HeadsPage", "{0}, head {1}").format(head.layer.name, head.head)
    return f"{name} · {number_text(head.value, 5)}"
