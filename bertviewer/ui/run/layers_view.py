"""Layers view: a statistic of each layer, and a grid of tokens and layers."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QPalette, QShortcut
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from bertviewer.charts.chart import LineChart
from bertviewer.charts.layers import (
    BAND,
    SPREAD,
    STATISTICS,
    not_finite,
    selected_series,
    series_chart,
    token_class_chart,
)
from bertviewer.charts.theme import GRID, NORMAL
from bertviewer.charts.token_charts import feature_chart
from bertviewer.core.analysis.layers import Series, layer_series, part_names
from bertviewer.core.analysis.tokens import TokenClass, token_classes
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.statistics.row_statistics import TokenStatistics
from bertviewer.plots.fonts import sized
from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.run import jobs
from bertviewer.ui.run.layer_panels import OutlierBar, TokenNormsPanel
from bertviewer.ui.run.notes import equal_layers_note, not_finite_note
from bertviewer.ui.run.run_view import RunCache, RunView, show_view_action
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP
from bertviewer.ui.state.pages import Page, PageSubject
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.choice_box import ChoiceBox, offer
from bertviewer.ui.views.data_view import Notice
from bertviewer.ui.views.empty_state import CallToAction
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import ResponsiveSplitter, hbox, named, vbox

Made = TypeVar("Made")

ALL = "all"
EACH = "each"

_SELECTION = QT_TRANSLATE_NOOP("LayerControls", "selection")
_OUTPUT = QT_TRANSLATE_NOOP("LayerControls", "layer output")


class LayersView(RunView[object]):
    """Lines over the layers, and a grid of tokens and layers; both show the same part."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._controls = LayerControls()
        self._outliers = OutlierBar(workspace)
        self._statistics = RunCache[str, tuple[TokenStatistics, ...]](
            self, jobs.token_statistics_job
        )
        self._waiting: list[ChartPanel] = []  # for statistics of tokens
        self._layers = ChartPanel(workspace, "", LinePlot, (self._controls,), has_axis_titles=False)
        self._layers.plot.setObjectName("layerPlot")
        self._norms = TokenNormsPanel(workspace, self._statistics, (self._outliers,))
        self._note = named(plain_label(""), "equalNote")
        self._note.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._note.setFont(sized(self._note.font(), NORMAL))
        plots = ResponsiveSplitter(self._layers, self._norms, (1, 1))
        self._layers.setContentsMargins(0, 0, 2 * GRID, 0)
        self._norms.setContentsMargins(2 * GRID, 0, 0, 0)
        vbox(self._note, (plots, 1), parent=self, margins=(0, GRID, 0, 0), spacing=2)
        escape = QShortcut(QKeySequence(Qt.Key.Key_Escape), self)
        escape.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        escape.activated.connect(workspace.selection.clear_feature)
        self._controls.changed.connect(self._show)
        self._outliers.changed.connect(self._on_outliers)
        self._statistics.changed.connect(self._show)
        self._statistics.late.connect(self._show_busy)
        self._statistics.failed.connect(self._show_failure)
        workspace.runs.run_changed.connect(self._norms.forget)

    def show_subject(self, subject: PageSubject) -> None:
        """Choose a statistic."""
        if isinstance(subject, str):
            self._controls.choose_statistic(subject)

    @property
    def statistic(self) -> str:
        """The selected statistic."""
        return self._controls.statistic

    @override
    def refresh(self) -> None:
        run, architecture = self.workspace.runs.run, self.workspace.architecture
        if run is None or architecture is None:
            return
        self._controls.set_parts(part_names(architecture, run))
        self._controls.set_classes(token_classes(run))
        self._outliers.refresh()
        note = equal_layers_note(run, architecture)
        self._note.setText(note)
        self._note.setVisible(bool(note))
        self._show()

    def _on_outliers(self) -> None:
        if self.workspace.selection.feature is not None:
            self._show()

    def _show(self) -> None:
        current = self.workspace.runs.current
        if current is None:
            return
        feature = self._feature(current)
        self._controls.set_feature_shown(feature is not None)
        self._waiting = []
        if feature is None:
            self._show_part(current)
        else:
            self._statistics.cancel()
            self._show_feature(feature)
        # Drawing both charts in one event-loop turn would be noticeable.
        self.workspace.deferred.add(self._show_grid)

    def _show_grid(self) -> None:
        current = self.workspace.runs.current
        if current is None or self._norms in self._waiting:
            return
        feature = self._feature(current)
        if feature is None:
            action = self._show_outputs_action()
            self._norms.show_norms(current, self._controls.part, self.partners(), action)
        else:
            self._norms.show_feature(feature, self.partners())

    def _feature(self, recorded: RecordedRun) -> int | None:
        """Return the selected feature, ``None`` if the run's hidden states have fewer."""
        feature, states = self.workspace.selection.feature, recorded.run.hidden_states
        exists = feature is not None and bool(states) and feature < states[0].shape[1]
        return feature if exists else None

    def _show_part(self, current: RecordedRun) -> None:
        lines = self._line_series(current)
        grid = self._norms.series(current, self._controls.part)
        of_tokens = lines if self._controls.token_class != ALL else ()
        # A run has the norms of each module's last call only.
        of_calls = tuple(series for series in grid if series.is_shared)
        # Before the request, which may fail at once.
        for panel, is_waiting in ((self._layers, of_tokens), (self._norms, of_calls)):
            if is_waiting:
                self._waiting.append(panel)
        if self._statistics.request([path for s in (*of_tokens, *of_calls) for path in s.paths]):
            self._waiting = []
        if self._layers not in self._waiting:
            self._show_lines(lines)

    def _show_lines(self, series: tuple[Series, ...]) -> None:
        title = self._lines_title(series)
        layers = [not_finite(run.run, self._line_series(run)) for run in self.workspace.runs.both]
        if note := not_finite_note(*layers):
            tip = self.tr("{0}. Statistics cover finite values only.").format(note)
            self._layers.set_title(f"{title} · {note}", tip)
        else:
            self._layers.set_title(title)
        charts = self._of_both(self._line_chart)
        if not series:
            action = show_view_action(self.workspace, Page.HISTOGRAM, self.tr("Show the histogram"))
            self._layers.show_message(self.tr("This model has no sequence of layers."), action)
        elif not charts[0].lines:
            self._layers.show_message(
                self.tr("This part has no per-token vectors."), self._show_outputs_action()
            )
        else:
            self._layers.show_charts(*charts)

    def _lines_title(self, series: tuple[Series, ...]) -> str:
        parts = tuple(dict.fromkeys(one.part for one in series))
        if "" not in parts:
            text = self.tr("{0} of {1} in each layer")
            return text.format(self.statistic, ", ".join(parts))
        title = self.tr("{0} of each layer’s output").format(self.statistic)
        others = ", ".join(part for part in parts if part)
        return self.tr("{0} and of {1}").format(title, others) if others else title

    def _line_chart(self, recorded: RecordedRun) -> LineChart:
        run, statistic = recorded.run, self.statistic
        series = self._line_series(recorded)
        if self._controls.token_class == ALL:
            return series_chart(run, series, statistic)
        classes = self._controls.chosen_classes(token_classes(run))
        return token_class_chart(run, series, statistic, classes, self._statistics.of(recorded))

    def _show_feature(self, feature: int) -> None:
        self._layers.set_title(self.tr("Feature {0} of the hidden states").format(feature))

        def chart(recorded: RecordedRun) -> LineChart:
            classes = self._controls.chosen_classes(token_classes(recorded.run))
            # The baseline's limits would be drawn over the current run's, without their band.
            levels = self._outliers.levels if recorded is self.workspace.runs.current else ()
            return feature_chart(recorded.run, feature, classes, levels)

        self._layers.show_charts(*self._of_both(chart))

    def _line_series(self, recorded: RecordedRun) -> tuple[Series, ...]:
        """Return the series of the chosen part, or of the layers and the selected module."""
        architecture, part = self._architecture, self._controls.part
        if part is not None:
            return layer_series(architecture, recorded.run, part)
        row = self.workspace.selection.row
        output = layer_series(architecture, recorded.run)
        selected = selected_series(architecture, recorded.run, "" if row is None else row.node.path)
        is_simple = self._controls.token_class == ALL and self.statistic not in (SPREAD, BAND)
        return (*output, *selected) if is_simple or not selected else selected

    @property
    def _architecture(self) -> Architecture:
        architecture = self.workspace.architecture
        assert architecture is not None, "there is a run, and no model"
        return architecture

    def _of_both(self, make: Callable[[RecordedRun], Made]) -> tuple[Made, Made | None]:
        """Return what is made of the current run, and of the baseline if there is one."""
        made = [make(run) for run in self.workspace.runs.both]
        return made[0], made[1] if len(made) > 1 else None

    def _show_busy(self) -> None:
        for panel in self._waiting:
            panel.show_busy()

    def _show_failure(self, notice: Notice) -> None:
        self._norms.forget()
        for panel in self._waiting:
            panel.set_title("")  # which may say that this is being computed
            panel.show_message(notice.text, *notice.actions)

    def _show_outputs_action(self) -> CallToAction:
        """Return the action that shows the part that every layer has."""
        return CallToAction(self.tr("Show the layer outputs"), self._controls.choose_output)


class LayerControls(QWidget):
    """Choices of a statistic, a part of the layers and a class of tokens."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._statistic = ChoiceBox("statisticChoice", self.tr("Statistic shown per layer"))
        self._statistic.addItems(STATISTICS)
        for statistic, tip in (
            (SPREAD, self.tr("Mean as a line, ± std as a band, and min and max")),
            (BAND, self.tr("Mean and std only: min and max may dwarf the band")),
        ):
            number = self._statistic.findText(statistic)
            self._statistic.setItemData(number, tip, Qt.ItemDataRole.ToolTipRole)
        self._statistic.setCurrentText("std")
        self._part = ChoiceBox("partChoice", self.tr("Part of the layers"))
        self._part.setToolTip(
            self.tr("Part of the layers to show; initially the one selected in the tree")
        )
        self._tokens = ChoiceBox("tokenClassChoice", self.tr("Tokens included in the statistic"))
        choices = self._part, self._statistic, self._tokens
        hbox(*choices, parent=self, spacing=GRID)
        for choice in choices:
            choice.currentIndexChanged.connect(self.changed)
        self.set_parts(())
        self.set_classes(())

    @property
    def statistic(self) -> str:
        """The chosen statistic: one of ``STATISTICS``."""
        return self._statistic.currentText()

    def choose_statistic(self, name: str) -> None:
        """Choose a statistic."""
        self._statistic.setCurrentText(name)

    def choose_output(self) -> None:
        """Choose the layers' outputs and all tokens."""
        self._tokens.setCurrentIndex(max(0, self._tokens.findData(ALL)))
        self._part.setCurrentIndex(max(0, self._part.findData("")))

    @property
    def part(self) -> str | None:
        """The chosen part, "" for the layer itself, ``None`` for the selection in the tree."""
        data = self._part.currentData()
        return None if data is None else str(data)

    @property
    def token_class(self) -> str:
        """The name of the chosen class of tokens, ``ALL`` or ``EACH``."""
        return str(self._tokens.currentData() or ALL)

    def set_parts(self, parts: Sequence[str]) -> None:
        """Offer parts of a layer; the choice is kept if it is among them."""
        items = [(self.tr(_SELECTION), None), (self.tr(_OUTPUT), ""), *((p, p) for p in parts)]
        offer(self._part, items)

    def set_classes(self, classes: Sequence[TokenClass]) -> None:
        """Offer classes of tokens; the choice is kept if it is among them."""
        items: list[tuple[str, str | None]] = [(kind.label, kind.name) for kind in classes]
        if len(items) > 2:
            items.append((self.tr("all token classes"), EACH))
        offer(self._tokens, items)

    def chosen_classes(self, classes: Sequence[TokenClass]) -> tuple[TokenClass, ...]:
        """Return the chosen ones of a run's classes of tokens."""
        if self.token_class == EACH:
            # The two sentences of a pair are its content.
            is_pair = any(kind.name == "second" for kind in classes)
            excluded = {ALL, "content"} if is_pair else {ALL}
            return tuple(kind for kind in classes if kind.name not in excluded)
        return tuple(kind for kind in classes if kind.name == self.token_class)

    def set_feature_shown(self, is_shown: bool) -> None:
        """Disable the choices that do not apply to a single feature."""
        self._statistic.setEnabled(not is_shown)
        self._part.setEnabled(not is_shown)
