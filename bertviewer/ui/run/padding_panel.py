"""The sentence padded to more tokens: what the mask is for."""

from functools import partial

from PySide6.QtWidgets import QLabel, QSizePolicy, QSpinBox, QWidget

from bertviewer.charts.sentence_tables import padding_line, padding_table
from bertviewer.charts.theme import GRID
from bertviewer.core.analysis.padding import MOST_TOKENS, Padding, usual_length
from bertviewer.core.source.configuration import position_limit
from bertviewer.ui.background.requests import Request
from bertviewer.ui.charts.figure_view import FigureView
from bertviewer.ui.labels import heading_label, quiet_label
from bertviewer.ui.layouts import in_column, in_row, named
from bertviewer.ui.run import jobs
from bertviewer.ui.watched_run import FROM_FILE, WatchedRun
from bertviewer.ui.workspace import Workspace


class PaddingPanel(QWidget):
    """A length to pad to; what changes with the mask and without, in words and layer by layer."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._of: WatchedRun | None = None
        self._request = Request[Padding](workspace.requests, self)
        self._request.finished.connect(self._show)
        self._request.late.connect(self._show_wait)
        self._length = QSpinBox()
        self._length.setObjectName("paddedLength")
        self._length.setAccessibleName(self.tr("Tokens to pad to"))
        self._length.setToolTip(self.tr("How many tokens the sentence is padded to"))
        self._length.setKeyboardTracking(False)
        self._length.valueChanged.connect(self._want)
        self._words = named(quiet_label(""), "paddingWords")
        self._pair = quiet_label(
            self.tr("A pair's mask is 1 everywhere: each sentence sees the other.")
        )
        self._pair.setObjectName("pairMask")
        name = self.tr("What padding does, layer by layer")
        self._table = FigureView(workspace, "paddingTable", name)
        policy = self._table.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # the words stay where they are
        policy.setVerticalPolicy(QSizePolicy.Policy.Ignored)  # and have what room they need
        self._table.setSizePolicy(policy)
        head = in_row((heading_label(self.tr("Padding and the mask")), 1))
        self._title = QLabel(self.tr("Pad to"))
        self._title.setBuddy(self._length)
        for widget in (self._title, self._length):
            head.addWidget(widget)
        in_column(
            head,
            self._words,
            self._pair,
            (self._table, 1),
            on=self,
            margins=(2 * GRID, 0, 0, 0),
            spacing=GRID,
        )

    def refresh(self) -> None:
        """Pad the last run's sentence."""
        watched, architecture = self._workspace.runs.watched, self._workspace.architecture
        if watched is None or architecture is None:
            return
        if self._of is not watched:
            self._of = watched
            is_apart = bool(architecture.config.get("is_encoder_decoder"))
            own = [t for t in watched.run.tokens if not is_apart or t.segment == 0]
            self._pair.setVisible(watched.run.sentence.pair is not None and not is_apart)
            self._offer(len(own), position_limit(architecture.config))
        self._want()

    def _offer(self, count: int, limit: int | None) -> None:
        usual = usual_length(count, limit)
        self._length.blockSignals(True)
        self._length.setEnabled(usual is not None)
        self._length.setRange(count + 1, max(count + 1, MOST_TOKENS if limit is None else limit))
        self._length.setValue(usual or count + 1)
        self._length.blockSignals(False)

    def _want(self) -> None:
        watched = self._of
        if watched is None:
            return
        key = watched, self._length.value()
        if not self._length.isEnabled():
            text = self.tr("The sentence is as long as the model takes: nothing can be padded.")
            is_known = self._request.refuse(key, text)
        elif watched.capture is None:
            is_known = self._request.refuse(key, FROM_FILE)
        else:
            work = partial(jobs.pad_job, watched, self._length.value())
            is_known = self._request.want(key, work)
        if is_known:
            self._show()

    def _show(self) -> None:
        found = self._request.result
        self._table.setVisible(found is not None)
        if found is None:
            self._words.setText(self._request.error)
            return
        self._words.setText(padding_line(found))
        self._table.show_table(padding_table(found))

    def _show_wait(self) -> None:
        self._words.setText(self.tr("Running the padded sentence…"))
        self._table.hide()
