"""Tokens view: the token table, and the sentence as a vector and padded."""

from functools import partial
from typing import TypeVar

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import QLabel, QSizePolicy, QTabBar, QWidget
from typing_extensions import override

from bertviewer.charts.sentence_tables import (
    padding_line,
    padding_table,
    sentence_line,
    sentence_table,
)
from bertviewer.charts.theme import GRID
from bertviewer.core.analysis.padding import MAX_TOKENS, Padding, usual_length
from bertviewer.core.analysis.sentence_vectors import SentenceComparison
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.sources.length_limits import position_table_length
from bertviewer.core.util.text import isolated
from bertviewer.ui.run import jobs
from bertviewer.ui.run.run_view import RunView, ViewTopic, from_file_notice
from bertviewer.ui.run.token_table import TokenTable
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.state.pages import Page, PageSubject
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.data_view import Notice, Query
from bertviewer.ui.views.empty_state import CallToAction
from bertviewer.ui.views.figure_view import FigureView
from bertviewer.ui.widgets.labels import heading_label, muted_label
from bertviewer.ui.widgets.layouts import (
    hbox,
    named,
    number_field,
    split,
    stacked,
    vbox,
)

MAX_TABLE_WIDTH = 560
"""Pixels: wider, the table's numbers would be far from its tokens."""

Result = TypeVar("Result")


class TokensView(RunView[object]):
    """Two pages: a table of the tokens, and results for the whole sentence.

    The second page runs the sentence again, in the worker, while it is in sight.
    """

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._table = TokenTable(workspace.selection)
        self._table.setMaximumWidth(MAX_TABLE_WIDTH)
        self._vectors, self._padding = VectorsPanel(workspace), PaddingPanel(workspace)
        tokens = QWidget()
        hbox(self._table, 0, parent=tokens)
        self._pages = stacked(tokens, split(self._vectors, self._padding, sizes=(1000, 1100)))
        self._tabs = named(QTabBar(), "tokensSwitch", accessible_name=self.tr("View of the text"))
        self._tabs.setDrawBase(False)
        self._tabs.addTab(self.tr("Token list"))
        self._tabs.addTab(self.tr("Sentence vectors"))
        self._tabs.currentChanged.connect(self._on_tab)
        vbox(
            (self._tabs, Qt.AlignmentFlag.AlignLeft),
            (self._pages, 1),
            parent=self,
            margins=(GRID, 0, 0, 0),
            spacing=GRID,
        )

    def show_subject(self, subject: PageSubject) -> None:
        """Show the sentence vectors."""
        if subject == Page.SENTENCE:
            self._tabs.setCurrentIndex(1)

    @override
    def topic(self, title: str) -> ViewTopic:
        return ViewTopic(title if self._pages.currentIndex() == 0 else Page.SENTENCE)

    @override
    def refresh(self) -> None:
        if self._pages.currentIndex() == 0:
            self._table.show_run(self.workspace.runs.run)
        else:
            self._vectors.refresh()
            self._padding.refresh()

    def _on_tab(self, page: int) -> None:
        self._pages.setCurrentIndex(page)
        self.refresh()


class SentencePanel(RunView[Result]):
    """A result for the whole sentence: a text, and a table below it."""

    def __init__(self, workspace: Workspace, text: str, table: str, accessible_name: str) -> None:
        """Object names of the label and the table, and the table's accessible name."""
        super().__init__(workspace)
        self.display = self
        self.text = named(muted_label(""), text)
        self.table = FigureView(workspace, table, accessible_name)
        policy = self.table.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # so that the text does not move
        policy.setVerticalPolicy(QSizePolicy.Policy.Ignored)
        self.table.setSizePolicy(policy)

    def show_message(self, text: str, *_actions: CallToAction) -> None:
        """Show a text without a table."""
        self.text.setText(text)
        self.table.hide()

    def show_busy(self, text: str, cancel: CallToAction | None = None) -> None:
        """Show that the sentence is being run."""
        del cancel
        self.show_message(text)

    def show_progress(self, done: int, total: int) -> None:
        """Show no progress: the runs take a second."""

    @override
    def clear(self) -> None:
        super().clear()
        self.show_message("")


class VectorsPanel(SentencePanel[SentenceComparison]):
    """Cosines of the run's two sentences, or of its sentence and the baseline's."""

    def __init__(self, workspace: Workspace) -> None:
        name = translate("VectorsPanel", "Cosines of the two sentences")
        super().__init__(workspace, "sentenceWords", "sentenceTable", name)
        self._sentences = named(muted_label(""), "sentenceWhich")
        vbox(
            heading_label(self.tr("Two sentences as vectors")),
            self._sentences,
            self.text,
            (self.table, 1),
            parent=self,
            margins=(0, 0, 2 * GRID, 0),
            spacing=GRID,
        )

    @override
    def query(self) -> Query[SentenceComparison] | Notice | None:
        current, texts = self.workspace.runs.current, self._texts()
        self._sentences.setText(
            " · ".join(f"“{isolated(' '.join(text.split()))}”" for text in texts)
        )
        if current is None or len(texts) < 2:
            return Notice(
                self.tr(
                    "Add a second sentence, or set this run as baseline and run another "
                    "sentence, to compare the two by [CLS], pooled and mean vectors, against 12 "
                    "unrelated sentences."
                )
            )
        if current.capture is None:
            return from_file_notice(self.workspace)
        two = texts[0], texts[1]
        return Query((two, current), partial(jobs.compare_sentences_job, two, current.run))

    @override
    def draw(self, result: SentenceComparison) -> None:
        self.text.setText(sentence_line(result))
        self.table.show_table(sentence_table(result))
        self.table.show()

    @override
    def on_late(self) -> None:
        self.show_busy(self.tr("Running both sentences and the unrelated ones…"))

    def _texts(self) -> tuple[str, ...]:
        run, baseline = self.workspace.runs.run, self.workspace.runs.baseline
        if run is None:
            return ()
        if run.sentence.pair is not None:
            return run.sentence.text, run.sentence.pair
        own = run.sentence.text
        texts = [own] if baseline is None else [own, baseline.run.sentence.text]
        return tuple(dict.fromkeys(texts))


class PaddingPanel(SentencePanel[Padding]):
    """Changes of each layer's output when the sentence is padded, with the mask and without."""

    def __init__(self, workspace: Workspace) -> None:
        name = translate("PaddingPanel", "Effect of padding by layer")
        super().__init__(workspace, "paddingWords", "paddingTable", name)
        self._run: RecordedRun | None = None
        tip = self.tr("Length in tokens to pad the sentence to")
        self._length = number_field("paddedLength", self.tr("Padded length in tokens"), tip)
        self._length.setKeyboardTracking(False)
        self._length.valueChanged.connect(self.refresh)
        pair = self.tr("The mask of a sentence pair is 1 everywhere: each sentence sees the other.")
        self._pair = named(muted_label(pair), "pairMask")
        label = QLabel(self.tr("Pad to"))
        label.setBuddy(self._length)
        heading = heading_label(self.tr("Padding and the mask"))
        vbox(
            hbox((heading, 1), label, self._length),
            self.text,
            self._pair,
            (self.table, 1),
            parent=self,
            margins=(2 * GRID, 0, 0, 0),
            spacing=GRID,
        )

    @override
    def query(self) -> Query[Padding] | Notice | None:
        current = self.workspace.runs.current
        if current is None or self.workspace.architecture is None:
            return None
        if self._run is not current:
            self._run = current
            self._offer_lengths(current)
        if not self._length.isEnabled():
            return Notice(
                self.tr(
                    "The sentence already has the model’s maximum length, so it cannot be padded."
                )
            )
        if current.capture is None:
            return from_file_notice(self.workspace)
        length = self._length.value()
        return Query((current, length), partial(jobs.padding_job, current, length))

    @override
    def draw(self, result: Padding) -> None:
        self.text.setText(padding_line(result))
        self.table.show_table(padding_table(result))
        self.table.show()

    @override
    def on_late(self) -> None:
        self.show_busy(self.tr("Running the padded sentence…"))

    @override
    def release(self) -> None:
        super().release()
        if self._run is not self.workspace.runs.current:
            self._run = None

    def _offer_lengths(self, current: RecordedRun) -> None:
        architecture = self.workspace.architecture
        assert architecture is not None
        is_encoder_decoder = architecture.is_encoder_decoder
        limit = position_table_length(architecture)
        tokens = current.run.tokens
        count = sum(not is_encoder_decoder or token.segment == 0 for token in tokens)
        self._pair.setVisible(current.run.sentence.pair is not None and not is_encoder_decoder)
        usual = usual_length(count, limit)
        with QSignalBlocker(self._length):
            self._length.setEnabled(usual is not None)
            maximum = MAX_TOKENS if limit is None else limit
            self._length.setRange(count + 1, max(count + 1, maximum))
            self._length.setValue(usual or count + 1)
