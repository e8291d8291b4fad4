"""Panels of the layers view: a grid of token norms, and a bar of outlier features."""

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QAction, QPalette, QResizeEvent
from PySide6.QtWidgets import QLabel, QMenu, QSizePolicy, QToolButton, QWidget
from typing_extensions import override

from bertviewer.charts.chart import GridChart
from bertviewer.charts.comparison import Alignment
from bertviewer.charts.labels import names_of_states, norm_after
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.token_charts import feature_grid, has_norms, norms_chart, part_norms_chart
from bertviewer.core.analysis.layers import Series, layer_series
from bertviewer.core.analysis.outliers import MeanStd, OutlierFeature
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.statistics.accumulators import DEVIATIONS
from bertviewer.core.statistics.row_statistics import TokenStatistics
from bertviewer.core.util.numbers import with_minus
from bertviewer.core.util.text import isolated
from bertviewer.plots.heatmap import Heatmap
from bertviewer.ui.jobs.job_queue import Request
from bertviewer.ui.run import jobs
from bertviewer.ui.run.run_view import RunCache
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.empty_state import CallToAction
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.layouts import STRETCH, hbox, named

Features = tuple[OutlierFeature, ...]
Levels = tuple[MeanStd | None, ...]

SPACING = 4
MAX_CHIPS = 8
MAX_MENU_ENTRIES = 200


class TokenNormsPanel(ChartPanel):
    """Grid of tokens and layers: norms of a part of the layers, or one feature."""

    def __init__(
        self,
        workspace: Workspace,
        statistics: RunCache[str, tuple[TokenStatistics, ...]],
        controls: Sequence[QWidget] = (),
    ) -> None:
        super().__init__(workspace, "", Heatmap, controls, has_axis_titles=False)
        self.plot.setObjectName("tokenHeatmap")
        self._statistics = statistics
        self._drawn: object = None  # drawing 512 tokens again would take a while

    def series(self, recorded: RecordedRun, part: str | None) -> tuple[Series, ...]:
        """Return the series of layers whose norms are shown, () for the hidden states.

        The hidden states are shown whatever is selected in the tree, where ``part`` is ``None``.
        """
        architecture = self._workspace.architecture
        if architecture is not None and (part or not recorded.run.token_norms):
            return layer_series(architecture, recorded.run, part or "")
        return ()

    def show_norms(
        self, current: RecordedRun, part: str | None, partners: Alignment, action: CallToAction
    ) -> None:
        """Show the norms of a part, or ``action`` if it has none; its statistics are known."""

        def chart(recorded: RecordedRun) -> GridChart:
            series = self.series(recorded, part)
            if not series:
                return norms_chart(recorded.run)
            return part_norms_chart(recorded.run, series, self._statistics.of(recorded))

        series = self.series(current, part)
        name = series[0].part if series else ""
        self.set_title(
            self.tr("Token norms of {0} by layer").format(name)
            if name
            else self.tr("Token norms ‖h‖ by layer"),
            "" if series else self._states_tip(current),
        )
        if series and not has_norms(current.run, series):
            self.forget()
            self.show_message(self.tr("This part has no per-token vectors."), action)
        else:
            self._draw(series, chart, partners)

    def show_feature(self, feature: int, partners: Alignment) -> None:
        """Show one feature of the hidden states."""
        self.set_title(
            self.tr("Feature {0} by layer").format(feature),
            self._states_tip(self._workspace.runs.current),
        )
        self._draw(feature, lambda recorded: feature_grid(recorded.run, feature), partners)

    def forget(self) -> None:
        """Draw the chart again next time, and keep no run alive."""
        self._drawn = None

    def _states_tip(self, recorded: RecordedRun | None) -> str:
        """Return an explanation of the last row if it is not the last layer's output."""
        norm = "" if recorded is None else norm_after(recorded.run)
        if not norm:
            return ""
        return self.tr(
            "Rows are the hidden states. The last one is taken after {0}; the lines show "
            "the last layer’s output, before it."
        ).format(norm)

    def _draw(
        self, what: object, make: Callable[[RecordedRun], GridChart], partners: Alignment
    ) -> None:
        runs, before = self._workspace.runs, self._drawn
        b, a = runs.current, runs.baseline
        self._drawn = b, a, runs.comparison, what
        if b is not None and self._drawn != before:
            self.show_charts(make(b), None if a is None else make(a), partners)


class OutlierBar(QWidget):
    """Chips of the run's outlier features, as many as fit, and a menu of all of them.

    A click shows the feature in the hidden states. ``changed`` is emitted when the features of a
    new run are known.
    """

    changed = Signal()

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.setObjectName("outlierFeatures")
        self._workspace = workspace
        self._request = Request[tuple[Features, Levels]](workspace.jobs, self)
        self._features: Features = ()
        self._chips: list[QToolButton] = []
        self._labels: tuple[str, ...] = ()
        self._label = QLabel()
        self._label.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        tip = self.tr(
            "Features in which some token’s value is more than {0:g} standard "
            "deviations\nfrom the mean of its hidden state (Bondarenko, Nagel and "
            "Blankevoort 2021).\nFeatures that are outliers in the most hidden "
            "states come first."
        )
        self._label.setToolTip(plain_tooltip(tip.format(DEVIATIONS)))
        self._more = _button("moreOutliers", self.tr("All outlier features"))
        self._more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._menu = named(QMenu(self._more), "outlierMenu")
        self._more.setMenu(self._menu)
        self._back = _button("leaveFeature", self.tr("Clear feature (Esc)"))
        self._back.setText("✕")
        self._back.setAutoRaise(True)
        self._row = hbox(self._label, self._more, self._back, STRETCH, parent=self, spacing=SPACING)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._back.clicked.connect(workspace.selection.clear_feature)
        workspace.selection.feature_changed.connect(self._mark)
        # The previous run's chips stay visible until the new ones are known.
        workspace.runs.run_changed.connect(self._request.forget)
        self._request.finished.connect(self._show)
        self._mark()

    @property
    def levels(self) -> Levels:
        """Mean and std of the current run's hidden states, () until they are known."""
        return () if self._request.result is None else self._request.result[1]

    def refresh(self) -> None:
        """Request the outliers of the current run."""
        current = self._workspace.runs.current
        if current is not None:
            self._request.want(current, partial(jobs.outliers_job, current.run))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _show(self) -> None:
        run, result = self._workspace.runs.run, self._request.result
        if run is None or result is None:
            return
        self._features = result[0]
        self.setVisible(bool(run.hidden_states))
        self._labels = (
            (self.tr("Outlier features:"), self.tr("Outliers:"))
            if self._features
            else (self.tr("No outlier features"), self.tr("No outliers"))
        )
        for chip in self._chips:
            self._row.removeWidget(chip)
            chip.deleteLater()
        self._chips = [self._chip(run, feature) for feature in self._features[:MAX_CHIPS]]
        for place, chip in enumerate(self._chips, start=1):
            self._row.insertWidget(place, chip)
        self._fill_menu(run)
        self._mark()
        self.changed.emit()

    def _chip(self, run: ActivationRun, feature: OutlierFeature) -> QToolButton:
        chip = _button("outlierFeature", self._describe(run, feature))
        chip.setText(f"{feature.index}")
        chip.setCheckable(True)
        chip.setProperty("feature", feature.index)
        chip.clicked.connect(lambda: self._toggle(feature.index))
        return chip

    def _fill_menu(self, run: ActivationRun) -> None:
        self._menu.clear()
        for feature in self._features[:MAX_MENU_ENTRIES]:
            action = QAction(self._describe(run, feature).replace("&", "&&"), self._menu)
            action.setCheckable(True)
            action.setData(feature.index)
            action.triggered.connect(lambda _=False, index=feature.index: self._toggle(index))
            self._menu.addAction(action)

    def _describe(self, run: ActivationRun, feature: OutlierFeature) -> str:
        largest = feature.largest
        return self.tr("Feature {0}: in {1} of {2} hidden states, up to {3} std ({4}, {5})").format(
            feature.index,
            len(feature.states),
            len(run.hidden_states),
            with_minus(f"{largest.deviation:+.1f}"),
            names_of_states(run)[largest.state],
            isolated(run.tokens[largest.token].text),
        )

    def _toggle(self, feature: int) -> None:
        """Show a feature, or hide it if it is shown."""
        if self._workspace.selection.feature == feature:
            self._workspace.selection.clear_feature()
        else:
            self._workspace.selection.go(SelectionKey(feature=feature))
        self._mark()  # the click has toggled the chip

    def _mark(self) -> None:
        chosen = self._workspace.selection.feature
        for chip in self._chips:
            chip.setChecked(chip.property("feature") == chosen)
        for action in self._menu.actions():
            action.setChecked(action.data() == chosen)
        self._back.setVisible(chosen is not None)
        self._more.setVisible(bool(self._features))
        self._fit()

    def _fit(self) -> None:
        """Show as many chips as fit, and the shown one in any case."""
        chosen = sum(_width(chip) for chip in self._chips if chip.isChecked())
        needed = max(chosen, _width(self._chips[0]) if self._chips else 0)
        self._more.setText(self.tr("all {0}").format(len(self._features)))
        buttons = [button for button in (self._more, self._back) if not button.isHidden()]
        room = self._fit_label(self.width() - sum(map(_width, buttons)), needed)
        if room is None:
            # Numbers alone would say nothing: the menu button names them.
            self._more.setText(self.tr("{0} outliers").format(len(self._features)))
            room = 0
        for chip in sorted(self._chips, key=lambda chip: not chip.isChecked()):
            room -= _width(chip)
            chip.setVisible(room >= 0 or chip.isChecked())

    def _fit_label(self, room: int, needed: int) -> int | None:
        """Show the longest label that leaves ``needed`` pixels; return the rest, if any fits."""
        for text in self._labels:
            self._label.setText(text)
            rest = room - _width(self._label)
            if rest >= needed:
                self._label.show()
                return rest
        self._label.hide()
        return None


def _width(widget: QWidget) -> int:
    return widget.sizeHint().width() + SPACING


def _button(name: str, tip: str) -> QToolButton:
    return named(QToolButton(), name, accessible_name=tip, tooltip=plain_tooltip(tip))
