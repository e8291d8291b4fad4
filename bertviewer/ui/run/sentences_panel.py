"""Two sentences by their vectors, beside unrelated ones: are they alike, and against what?"""

from functools import partial

from PySide6.QtWidgets import QSizePolicy, QWidget

from bertviewer.charts.sentence_tables import sentence_line, sentence_table
from bertviewer.charts.theme import GRID
from bertviewer.core.analysis.sentence_vectors import SentenceComparison
from bertviewer.core.text.text_direction import isolated
from bertviewer.ui.background.requests import Request
from bertviewer.ui.charts.figure_view import FigureView
from bertviewer.ui.labels import heading_label, quiet_label
from bertviewer.ui.layouts import in_column, named
from bertviewer.ui.run import jobs
from bertviewer.ui.watched_run import FROM_FILE
from bertviewer.ui.workspace import Workspace


class SentencesPanel(QWidget):
    """The run's two sentences, or its sentence and run A's."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._request = Request[SentenceComparison](workspace.requests, self)
        self._request.finished.connect(self._show)
        self._request.late.connect(self._show_wait)
        self._which = named(quiet_label(""), "sentenceWhich")
        self._words = named(quiet_label(""), "sentenceWords")
        name = self.tr("Cosines of the two sentences")
        self._table = FigureView(workspace, "sentenceTable", name)
        policy = self._table.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # the words stay where they are
        policy.setVerticalPolicy(QSizePolicy.Policy.Ignored)  # and have what room they need
        self._table.setSizePolicy(policy)
        in_column(
            heading_label(self.tr("Two sentences as vectors")),
            self._which,
            self._words,
            (self._table, 1),
            on=self,
            margins=(0, 0, 2 * GRID, 0),
            spacing=GRID,
        )

    def refresh(self) -> None:
        """Compare the two, if there are two."""
        watched = self._workspace.runs.watched
        texts = self._texts()
        self._which.setText(" · ".join(f"“{isolated(' '.join(text.split()))}”" for text in texts))
        if watched is None or len(texts) < 2:
            self._request.cancel()
            self._say(
                self.tr(
                    "Type a second sentence, or keep this run as A and run another: the two are "
                    "compared as [CLS], as the pooler has them and as a mean, beside a dozen "
                    "sentences that have nothing to do with one another."
                )
            )
            return
        key = (*texts, watched)
        if watched.capture is None:
            is_known = self._request.refuse(key, FROM_FILE)
        else:
            is_random = watched.run.source.weights == "random"
            work = partial(
                jobs.compare_sentences_job, texts[0], texts[1], is_random, watched.run.device
            )
            is_known = self._request.want(key, work)
        if is_known:
            self._show()

    def _texts(self) -> tuple[str, ...]:
        run, run_a = self._workspace.runs.run, self._workspace.runs.watched_a
        if run is None:
            return ()
        if run.sentence.pair is not None:
            return run.sentence.text, run.sentence.pair
        own = run.sentence.text
        texts = [own] if run_a is None else [own, run_a.run.sentence.text]
        return tuple(dict.fromkeys(texts))

    def _show(self) -> None:
        found = self._request.result
        if found is None:
            self._say(self._request.error)
            return
        self._words.setText(sentence_line(found))
        self._table.show_table(sentence_table(found))
        self._table.show()

    def _show_wait(self) -> None:
        self._say(self.tr("Running the two sentences and the unrelated ones…"))

    def _say(self, text: str) -> None:
        self._words.setText(text)
        self._table.hide()
