"""The outlier features of a run by name: a click shows one of them through the hidden states."""

from functools import partial

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QAction, QPalette, QResizeEvent
from PySide6.QtWidgets import QLabel, QMenu, QSizePolicy, QToolButton, QWidget

from bertviewer.charts.labels import names_of_states
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.analysis.outliers import MeanStd, OutlierFeature
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.statistics.accumulators import DEVIATIONS
from bertviewer.core.util.numbers import with_minus
from bertviewer.core.util.text import isolated
from bertviewer.ui.jobs.requests import Request
from bertviewer.ui.run import jobs
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.layouts import STRETCH, hbox, named

Features = tuple[OutlierFeature, ...]
Levels = tuple[MeanStd | None, ...]

GAP = 4
MOST_CHIPS = 8
MOST_LISTED = 200
"""A menu of more entries serves nobody."""


class OutlierBar(QWidget):
    """A chip for each outlier feature, as many as there is room for, and a list of all of them.

    ``changed`` says that those of a new run are known.
    """

    changed = Signal()

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.setObjectName("outlierFeatures")
        self._workspace = workspace
        self._request = Request[tuple[Features, Levels]](workspace.requests, self)
        self._features: Features = ()
        self._chips: list[QToolButton] = []
        self._words: tuple[str, ...] = ()
        self._name = QLabel()
        self._name.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._name.setToolTip(
            plain_tooltip(
                self.tr(
                    "Features in which some token’s value is more than {0:g} standard "
                    "deviations\nfrom the mean of its hidden state (Bondarenko, Nagel and "
                    "Blankevoort 2021).\nFeatures that are outliers in the most hidden "
                    "states come first."
                ).format(DEVIATIONS)
            )
        )
        self._more = _button("moreOutliers", self.tr("All outlier features"))
        self._more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._menu = named(QMenu(self._more), "outlierMenu")
        self._more.setMenu(self._menu)
        self._back = _button("leaveFeature", self.tr("Clear feature (Esc)"))
        self._back.setText("✕")
        self._back.setAutoRaise(True)
        self._line = hbox(self._name, self._more, self._back, STRETCH, parent=self, spacing=GAP)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._back.clicked.connect(workspace.selection.clear_feature)
        workspace.selection.feature_changed.connect(self._mark)
        # The features of a run that is gone stay in sight until the next ones come.
        workspace.runs.run_changed.connect(self._request.forget)
        self._request.finished.connect(self._show)
        self._mark()

    @property
    def features(self) -> Features:
        """The outlier features of the last run, as far as they are known."""
        return self._features

    @property
    def levels(self) -> Levels:
        """The levels of its hidden states; none as long as they are not known."""
        return () if self._request.result is None else self._request.result[1]

    def refresh(self) -> None:
        """Request the outliers of the last run, unless they are shown."""
        watched = self._workspace.runs.watched
        if watched is not None:
            self._request.want(watched, partial(jobs.find_outliers_job, watched.run))

    def _show(self) -> None:
        run, result = self._workspace.runs.run, self._request.result
        if run is None or result is None:
            return
        self._features = result[0]
        self.setVisible(bool(run.hidden_states))
        self._words = (
            (self.tr("Outlier features:"), self.tr("Outliers:"))
            if self._features
            else (self.tr("No outlier features"), self.tr("No outliers"))
        )
        for chip in self._chips:
            self._line.removeWidget(chip)
            chip.deleteLater()
        self._chips = [self._chip(run, feature) for feature in self._features[:MOST_CHIPS]]
        for place, chip in enumerate(self._chips, start=1):
            self._line.insertWidget(place, chip)
        self._fill_menu(run)
        self._mark()
        self.changed.emit()

    def minimumSizeHint(self) -> QSize:
        """Return no width: the bar gives way to what is beside it. Qt calls it."""
        return QSize(0, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show as many chips as there is room for now; Qt calls it."""
        super().resizeEvent(event)
        self._fit()

    def _chip(self, run: ActivationRun, feature: OutlierFeature) -> QToolButton:
        chip = _button("outlierFeature", self._describe(run, feature))
        chip.setText(f"{feature.index}")
        chip.setCheckable(True)
        chip.setProperty("feature", feature.index)
        chip.clicked.connect(lambda: self._choose(feature.index))
        return chip

    def _fill_menu(self, run: ActivationRun) -> None:
        self._menu.clear()
        for feature in self._features[:MOST_LISTED]:
            action = QAction(self._describe(run, feature).replace("&", "&&"), self._menu)
            action.setCheckable(True)
            action.setData(feature.index)
            action.triggered.connect(lambda _=False, index=feature.index: self._choose(index))
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

    def _choose(self, feature: int) -> None:
        """Show a feature, or none any more if it is the one that is shown."""
        if self._workspace.selection.feature == feature:
            self._workspace.selection.clear_feature()
        else:
            self._workspace.selection.go(SelectionKey(feature=feature))
        self._mark()  # a click turned the chip by itself

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
        chosen = sum(one.sizeHint().width() + GAP for one in self._chips if one.isChecked())
        first = self._chips[0].sizeHint().width() + GAP if self._chips else 0
        beside = max(chosen, first)
        self._more.setText(self.tr("all {0}").format(len(self._features)))
        room = self._fit_name(self._room(), beside)
        if room is None:
            # Numbers alone would say nothing: the list has the word.
            self._more.setText(self.tr("{0} outliers").format(len(self._features)))
            room = 0
        # The one that is shown stays in sight, whatever else has no room.
        for chip in sorted(self._chips, key=lambda one: not one.isChecked()):
            room -= chip.sizeHint().width() + GAP
            chip.setVisible(room >= 0 or chip.isChecked())

    def _room(self) -> int:
        """Return the room beside the buttons at the end."""
        shown = [one for one in (self._more, self._back) if not one.isHidden()]
        return self.width() - sum(one.sizeHint().width() + GAP for one in shown)

    def _fit_name(self, room: int, beside: int) -> int | None:
        """Say what the chips are in the words that fit; return the room that is left, if any do."""
        for words in self._words:
            self._name.setText(words)
            left = room - self._name.sizeHint().width() - GAP
            if left >= beside:
                self._name.show()
                return left
        self._name.hide()
        return None


def _button(name: str, tip: str) -> QToolButton:
    return named(QToolButton(), name, accessible_name=tip, tooltip=plain_tooltip(tip))
