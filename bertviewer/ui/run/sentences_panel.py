"""Two sentences by their vectors, beside unrelated ones: are they alike, and against what?"""

from functools import partial

from bertviewer.charts.sentence_tables import sentence_line, sentence_table
from bertviewer.charts.table import DataTable
from bertviewer.charts.theme import GRID
from bertviewer.core.analysis.sentence_vectors import SentenceComparison
from bertviewer.core.util.text import isolated
from bertviewer.ui.run import jobs
from bertviewer.ui.run.sentence_part import SentencePart
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.labels import heading_label, muted_label
from bertviewer.ui.widgets.layouts import named, vbox


class SentencesPanel(SentencePart[SentenceComparison]):
    """The run's two sentences, or its sentence and run A's."""

    def __init__(self, workspace: Workspace) -> None:
        says = translate("SentencesPanel", "Cosines of the two sentences")
        super().__init__(workspace, "sentenceWords", "sentenceTable", says)
        self.waiting = self.tr("Running both sentences and the unrelated ones…")
        self._which = named(muted_label(""), "sentenceWhich")
        vbox(
            heading_label(self.tr("Two sentences as vectors")),
            self._which,
            self.words,
            (self.table, 1),
            parent=self,
            margins=(0, 0, 2 * GRID, 0),
            spacing=GRID,
        )

    def told(self, found: SentenceComparison) -> tuple[str, DataTable]:
        """Return how alike they are."""
        return sentence_line(found), sentence_table(found)

    def refresh(self) -> None:
        """Compare the two, if there are two."""
        watched = self.workspace.runs.watched
        texts = self._texts()
        self._which.setText(" · ".join(f"“{isolated(' '.join(text.split()))}”" for text in texts))
        if watched is None or len(texts) < 2:
            self.leave(
                self.tr(
                    "Add a second sentence, or keep this run as A and run another, to "
                    "compare the two by [CLS], pooled and mean vectors, against 12 "
                    "unrelated sentences."
                )
            )
            return
        is_random = watched.run.source.weights == "random"
        two = texts[0], texts[1]
        work = partial(jobs.compare_sentences_job, *two, is_random, watched.run.device)
        self.want((*texts, watched), work, watched)

    def _texts(self) -> tuple[str, ...]:
        run, run_a = self.workspace.runs.run, self.workspace.runs.watched_a
        if run is None:
            return ()
        if run.sentence.pair is not None:
            return run.sentence.text, run.sentence.pair
        own = run.sentence.text
        texts = [own] if run_a is None else [own, run_a.run.sentence.text]
        return tuple(dict.fromkeys(texts))
