"""The sentence padded to more tokens: what the mask is for."""

from functools import partial

from PySide6.QtWidgets import QLabel

from bertviewer.charts.sentence_tables import padding_line, padding_table
from bertviewer.charts.table import DataTable
from bertviewer.charts.theme import GRID
from bertviewer.core.analysis.padding import MAX_TOKENS, Padding, usual_length
from bertviewer.core.sources.length_limits import position_table_length
from bertviewer.ui.jobs.recorded_run import RecordedRun
from bertviewer.ui.run import jobs
from bertviewer.ui.run.sentence_part import SentencePart
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.labels import heading_label, muted_label
from bertviewer.ui.widgets.layouts import hbox, named, number_field, vbox


class PaddingPanel(SentencePart[Padding]):
    """A length to pad to; what changes with the mask and without, in words and layer by layer."""

    def __init__(self, workspace: Workspace) -> None:
        says = translate("PaddingPanel", "Effect of padding by layer")
        super().__init__(workspace, "paddingWords", "paddingTable", says)
        self.waiting = self.tr("Running the padded sentence…")
        self._of: RecordedRun | None = None
        tip = self.tr("Length in tokens to pad the sentence to")
        self._length = number_field("paddedLength", self.tr("Padded length in tokens"), tip)
        self._length.setKeyboardTracking(False)
        self._length.valueChanged.connect(self._want)
        pair = self.tr("The mask of a sentence pair is 1 everywhere: each sentence sees the other.")
        self._pair = named(muted_label(pair), "pairMask")
        title = QLabel(self.tr("Pad to"))
        title.setBuddy(self._length)
        heading = heading_label(self.tr("Padding and the mask"))
        vbox(
            hbox((heading, 1), title, self._length),
            self.words,
            self._pair,
            (self.table, 1),
            parent=self,
            margins=(2 * GRID, 0, 0, 0),
            spacing=GRID,
        )

    def refresh(self) -> None:
        """Pad the last run's sentence."""
        watched, architecture = self.workspace.runs.watched, self.workspace.architecture
        if watched is None or architecture is None:
            return
        if self._of is not watched:
            self._of = watched
            is_apart = architecture.is_encoder_decoder
            own = [t for t in watched.run.tokens if not is_apart or t.segment == 0]
            self._pair.setVisible(watched.run.sentence.pair is not None and not is_apart)
            self._offer(len(own), position_table_length(architecture))
        self._want()

    def _offer(self, count: int, limit: int | None) -> None:
        usual = usual_length(count, limit)
        self._length.blockSignals(True)
        self._length.setEnabled(usual is not None)
        self._length.setRange(count + 1, max(count + 1, MAX_TOKENS if limit is None else limit))
        self._length.setValue(usual or count + 1)
        self._length.blockSignals(False)

    def _want(self) -> None:
        watched = self._of
        if watched is None:
            return
        text = self.tr(
            "The sentence already has the model’s maximum length, so it cannot be padded."
        )
        length = self._length.value()
        work = partial(jobs.pad_job, watched, length)
        self.want((watched, length), work, watched, "" if self._length.isEnabled() else text)

    def told(self, found: Padding) -> tuple[str, DataTable]:
        """Return what padding does."""
        return padding_line(found), padding_table(found)
