"""Predictions over the vocabulary: likeliest tokens, and how they emerge layer by layer."""

from functools import partial

from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QComboBox, QLabel, QToolButton, QWidget
from typing_extensions import override

from bertviewer.charts.labels import token_name
from bertviewer.charts.predictions import (
    LensFigure,
    actual_summary,
    candidates_table,
    followed_tokens,
    lens_chart,
    lens_table,
)
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import GRID
from bertviewer.core.analysis.predictions import (
    Predictions,
    mask_positions,
    predicted_positions,
    predicts_next,
)
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.sources.families import MASK_TOKENS
from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.run import jobs
from bertviewer.ui.run.run_view import RunResults, RunView
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.choice_box import ChoiceBox
from bertviewer.ui.views.data_view import Notice, Query
from bertviewer.ui.views.empty_state import CallToAction, ContentStack
from bertviewer.ui.views.figure_view import FigureView
from bertviewer.ui.widgets.buttons import SegmentedControl, tool_button
from bertviewer.ui.widgets.labels import ElidedLabel, plain_label
from bertviewer.ui.widgets.layouts import STRETCH, ResponsiveSplitter, hbox, named, split, vbox
from bertviewer.ui.widgets.progress_bar import thin_bar

Predicted = tuple[ActivationRun, Predictions]
"""A run, and the predictions at one of its positions."""

MAX_MASKS = 8
"""Masks that have a button; others can be selected in the token table."""
FIGURES: tuple[tuple[LensFigure, str], ...] = (
    ("probability", QT_TRANSLATE_NOOP("LensPanel", "probability")),
    ("rank", QT_TRANSLATE_NOOP("LensPanel", "rank")),
)
MAX_LINES, MAX_COMPARED_LINES = 3, 1
"""Lines of predicted tokens, in addition to that of the actual token."""


class WordsPanel(RunView[RunResults[Predictions | None]]):
    """The likeliest tokens at the selected position, by the model and after each of its layers."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._title = named(ElidedLabel(), "predictionTitle")
        self._masks = QWidget()
        self._mask_row = hbox(parent=self._masks, spacing=4)
        self._mask_buttons: list[QToolButton] = []
        self._shown_masks: tuple[int, ...] | None = None
        self._hint = named(ElidedLabel(), "predictionHint")
        self._hint.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        line = hbox(self._title, self._masks, (self._hint, 1), spacing=12)
        self._progress = thin_bar("predictionProgress", self.tr("Computing"))
        self._table = FigureView(workspace, "predictionTable", self.tr("Most likely tokens"))
        self._lens = LensPanel(workspace)
        title = plain_label(self.tr("Model output"))
        title.setMinimumHeight(_title_height())
        output = QWidget()
        vbox(title, (self._table, 1), parent=output, spacing=4, margins=(0, 0, 2 * GRID, 0))
        self._lens.setContentsMargins(2 * GRID, 0, 0, 0)
        self._columns = split(output, self._lens, sizes=(2900, 7100))
        self._is_compared = False
        self.display = self._content = ContentStack(self._columns, "predictionMessage")
        vbox(line, self._progress, (self._content, 1), parent=self, spacing=4)

    @property
    def shown(self) -> Predictions | None:
        """The predictions of the current run that are shown."""
        result = self.request.result
        if result is None or result.current is not self.workspace.runs.current:
            return None
        return result.b

    @override
    def query(self) -> Query[RunResults[Predictions | None]] | Notice | None:
        runs, architecture = self.workspace.runs, self.workspace.architecture
        current, token = runs.current, self.workspace.selection.token
        if current is None or token is None or architecture is None:
            return None
        self._show_masks(mask_positions(current.run, architecture))
        predicted = predicted_positions(current.run, architecture)
        if token not in predicted:
            return Notice(
                self.tr(
                    "This is an encoder token. Select a decoder token: the model predicts "
                    "what follows it."
                ),
                CallToAction(
                    self.tr("Select the first decoder token"), partial(self._select, predicted[0])
                ),
            )
        positions = {current: token}
        if runs.baseline is not None and token in (partner := self.partners().in_a):
            positions[runs.baseline] = partner[token]
        key = tuple(positions.items())
        return self.query_runs(key, partial(jobs.predictions_job, positions))

    @override
    def draw(self, result: RunResults[Predictions | None]) -> None:
        run, baseline = self.workspace.runs.run, self.workspace.runs.baseline
        architecture, b, a = self.workspace.architecture, result.b, result.a
        if run is None or architecture is None or b is None:
            return
        self._content.show_content()
        self._progress.hide()
        is_next = predicts_next(architecture)
        text = self.tr("Predicted after {0}") if is_next else self.tr("Predicted at {0}")
        self._title.setText(text.format(token_name(run, b.position)))
        hints = [actual_summary(run, b)]
        if baseline is not None and a is None:
            hints.append(self.tr("this token is not in A"))
        elif not is_next and run.tokens[b.position].text not in MASK_TOKENS:
            hint = self.tr("the model sees this token; replace it with {0} to have it predicted")
            hints.append(hint.format(_mask_of(run)))
        self._hint.setText("; ".join(filter(None, hints)))
        self._table.show_table(candidates_table(run, b, a, baseline is not None))
        of_a = None if baseline is None or a is None else (baseline.run, a)
        self._lens.show_predictions((run, b), of_a)
        if (is_compared := baseline is not None) != self._is_compared:
            self._is_compared = is_compared
            self._columns.setSizes([4200, 5800] if is_compared else [2900, 7100])

    @override
    def show_notice(self, notice: Notice) -> None:
        self._title.clear()
        self._hint.clear()
        self._progress.hide()
        super().show_notice(notice)

    @override
    def on_late(self) -> None:
        if self.request.result is None:  # what is shown is another run's
            self._title.clear()
            self._content.show_message("")
        self._hint.setText(self.tr("Computing…"))
        self._progress.show()

    @override
    def clear(self) -> None:
        super().clear()
        self._title.clear()
        self._hint.clear()

    @override
    def forget(self) -> None:
        super().forget()
        self._lens.forget()

    def _show_masks(self, places: tuple[int, ...]) -> None:
        """Show a button for each mask of the sentence."""
        self._masks.setVisible(bool(places))
        if places != self._shown_masks:
            self._shown_masks = places
            while (item := self._mask_row.takeAt(0)) is not None:
                if (widget := item.widget()) is not None:
                    widget.hide()
                    widget.deleteLater()
            self._mask_buttons = []
            self._mask_row.addWidget(QLabel(self.tr("Mask at token")))
            for place in places[:MAX_MASKS]:
                tip = self.tr("Select the mask at token {0}").format(place)
                button = tool_button("", str(place), tip, is_checkable=True)
                button.clicked.connect(partial(self._select, place))
                self._mask_row.addWidget(button)
                self._mask_buttons.append(button)
        for button, place in zip(self._mask_buttons, places, strict=False):
            button.setChecked(place == self.workspace.selection.token)

    def _select(self, place: int, _checked: bool = False) -> None:
        self.workspace.selection.go(SelectionKey(token=place))
        self._show_masks(self._shown_masks or ())


class LensPanel(QWidget):
    """The logit lens as a table of top tokens and as lines over the layers."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._b: Predicted | None = None
        self._a: Predicted | None = None
        self._table = FigureView(workspace, "lensTable", self.tr("Top tokens after each layer"))
        self._content = ContentStack(self._table, "lensMessage")
        title = plain_label(self.tr("After each layer"))
        title.setWordWrap(False)
        title.setToolTip(
            self.tr(
                "The prediction head applied to each hidden state (logit lens). A stronger "
                "shade means a more likely token."
            )
        )
        title.setMinimumHeight(_title_height())
        tip = self.tr("Show the layers of run {0}")
        self._runs = SegmentedControl(
            tool_button(f"lens{name}", name, tip.format(name)) for name in "BA"
        )
        self._runs.choose("lensB")
        left = QWidget()
        line = hbox(title, self._runs, STRETCH, margins=None)
        vbox(line, (self._content, 1), parent=left, spacing=4, margins=(0, 0, 2 * GRID, 0))
        self._figure = ChoiceBox("lensFigure", self.tr("Measure to plot"))
        for name, text in FIGURES:
            self._figure.addItem(self.tr(text), name)
        self._chart = ChartPanel(workspace, "", LinePlot, (self._figure,))
        named(self._chart.plot, "lensPlot", accessible_name=self.tr("Tokens by layer"))
        self._chart.setContentsMargins(2 * GRID, 0, 0, 0)
        hbox(ResponsiveSplitter(left, self._chart, (500, 360)), parent=self)
        self._runs.turned.connect(self._show_table)
        self._figure.currentIndexChanged.connect(self._show_chart)
        self._table.chosen.connect(self._select)

    def show_predictions(self, b: Predicted, a: Predicted | None) -> None:
        """Show the predictions after each layer of the current run and of the baseline."""
        self._b, self._a = b, a
        self._runs.setVisible(a is not None)
        self._show_table()
        # The chart takes as long as all the rest.
        self._workspace.deferred.add(self._show_chart)

    def forget(self) -> None:
        """Keep no run alive; what is drawn stays."""
        self._b = self._a = None

    def _show_table(self) -> None:
        shows_a = self._a is not None and self._runs.chosen == "lensA"
        shown = self._a if shows_a else self._b
        if shown is None:
            return
        run, predictions = shown
        name = "" if self._a is None else "A" if shows_a else "B"
        self._table.show_table(lens_table(run, predictions, name))
        if predictions.no_layers:
            self._content.show_message(predictions.no_layers)
        else:
            self._content.show_content()
        self._table.mark(None if shows_a else self._row_of_selection())

    def _row_of_selection(self) -> int | None:
        """Return the first row of the layer that is, or contains, the selected module."""
        path = self._workspace.selection.place.path
        for row, place in enumerate(self._table.shown.keys):
            if path and place.path and f"{path}.".startswith(f"{place.path}."):
                return row
        return None

    def _show_chart(self) -> None:
        if self._b is None:
            return
        run, predictions = self._b
        self._chart.setVisible(not predictions.no_layers)
        if predictions.no_layers:
            return
        count = MAX_LINES if self._a is None else MAX_COMPARED_LINES
        followed = followed_tokens(run, predictions, count)
        figure: LensFigure = self._figure.currentData()
        b = lens_chart(run, predictions, followed, figure)
        a = None if self._a is None else lens_chart(*self._a, followed, figure)
        self._chart.show_charts(b, a)

    def _select(self, place: SelectionKey) -> None:
        if place.path:
            self._workspace.selection.go(place)


def _title_height() -> int:
    """Return the height of a title line with a choice, for those without one."""
    return QComboBox().sizeHint().height()


def _mask_of(run: ActivationRun) -> str:
    """Return the mask token of the model's vocabulary."""
    is_like_roberta = any(token.text in ("<s>", "</s>") for token in run.tokens)
    return "<mask>" if is_like_roberta else "[MASK]"
