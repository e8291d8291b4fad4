"""How alike the tokens' vectors are: all with all in one hidden state, two in all of them."""

import numpy as np
from PySide6.QtWidgets import QCheckBox

from bertviewer.charts.comparison import Alignment
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.token_charts import similarity_chart
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.plots.pair_matrix import PairMatrix
from bertviewer.ui.run.offers import another_view
from bertviewer.ui.run.pair_panel import PairPanel
from bertviewer.ui.run.state_choice import StateChoice
from bertviewer.ui.run.view import InSight, View
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.widgets.buttons import tool_button
from bertviewer.ui.widgets.layouts import hbox, split


class SimilarityView(View):
    """Cosines of all tokens at a layer, beside those of two tokens or of one word at all layers."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        # What the grid shows: redrawing 512 tokens because another one is selected takes too long.
        self._drawn: tuple[int, bool] | None = None
        self._partners: Alignment | None = None
        self._state = StateChoice()
        self._whole = QCheckBox(self.tr("Fix colour scale to −1…1"))
        self._whole.setObjectName("wholeRange")
        self._whole.setToolTip(
            self.tr(
                "Colours cover the full range of the cosine; otherwise, its range at this layer"
            )
        )
        self._whole.setChecked(True)
        # B's, and A's once there is a run A.
        self._grids: list[PairMatrix] = []
        tip = self.tr("Compare two sentences as vectors, against unrelated sentences")
        self._sentences = tool_button("wholeSentences", self.tr("Sentences"), tip)
        self._sentences.setAutoRaise(True)
        controls = (self._state, self._whole, self._sentences)
        self._tokens = ChartPanel(workspace, self.tr("Cosine at"), self._make_grid, controls)
        self._grids[0].setObjectName("similarityGrid")
        self._pair = PairPanel(workspace)
        hbox(split(self._tokens, self._pair, sizes=(1, 1)), parent=self, margins=(0, 4, 0, 0))
        self._state.chosen.connect(self._on_state)
        self._whole.toggled.connect(self._show_tokens)
        self._sentences.clicked.connect(self._show_sentences)
        self._grids[0].paired.connect(self._on_pair)
        self._pair.other_chosen.connect(self._mark_other)
        workspace.runs.run_changed.connect(self._forget)
        workspace.runs.comparison_changed.connect(self._forget)

    @property
    def other(self) -> int | None:
        """The token that the selected one is compared with."""
        return self._pair.other

    def in_sight(self, title: str) -> InSight:
        """Return the view with the hidden state that it shows."""
        return InSight(title, state=self._state.state)

    def refresh(self) -> None:
        """Show both charts."""
        run = self.workspace.runs.run
        if run is None:
            return
        has_states = bool(run.hidden_states)
        for widget in (self._state, self._whole, self._pair):
            widget.setVisible(has_states)
        if not has_states:
            text = self.tr("This model has no hidden states of equal size to compare.")
            offer = another_view(self.workspace, "Histogram", self.tr("Show the histogram"))
            self._tokens.show_message(text, offer)
            return
        self._state.follow(run, self.workspace.selection.place.path)
        self.workspace.draw_queue.later(self._show_pair)
        self.workspace.draw_queue.later(self._show_tokens)

    def _show_sentences(self) -> None:
        self.workspace.page_wanted.emit("Tokens")
        self.workspace.sentences_wanted.emit()

    def _forget(self) -> None:
        self._drawn = self._partners = None

    def _same_tokens(self) -> Alignment:
        if self._partners is None:
            self._partners = self.partners(rows=True)
        return self._partners

    def _show_tokens(self) -> None:
        run, run_a = self.workspace.runs.run, self.workspace.runs.watched_a
        wanted = self._state.state, self._whole.isChecked()
        if run is None or not _has(run, wanted[0]) or wanted == self._drawn:
            return
        self._drawn = wanted
        # A difference has colours of its own.
        self._whole.setEnabled(run_a is None or self.workspace.runs.comparison == "overlay")
        other = None if run_a is None else run_a.run
        b = similarity_chart(run, *wanted)
        a = similarity_chart(other, *wanted) if other and _has(other, wanted[0]) else None
        if any(np.isfinite(chart.values).any() for chart in (b, a) if chart is not None):
            self._tokens.show_charts(b, a, self._same_tokens())
        else:
            self._tokens.show_message(
                self.tr("No cosine is defined here: the vectors are zero or not finite."),
                another_view(self.workspace, "Layers", self.tr("Show the layers")),
            )
        self._mark_other()

    def _show_pair(self) -> None:
        run = self.workspace.runs.run
        if run is not None and run.hidden_states:
            self._pair.refresh(self._same_tokens())
            self._mark_other()

    def _make_grid(self) -> PairMatrix:
        self._grids.append(PairMatrix())
        return self._grids[-1]

    def _mark_other(self) -> None:
        of_b, *of_a = self._grids
        of_b.mark_row(self.other)
        partner = self._same_tokens().in_a
        for grid in of_a:
            grid.mark_row(None if self.other is None else partner.get(self.other))

    def _on_state(self, state: int) -> None:
        run = self.workspace.runs.run
        if run is None:
            return
        path = run.state_path(state, self.workspace.selection.token or 0)
        self.workspace.selection.go(SelectionKey(path or None))
        self.workspace.draw_queue.later(self._show_tokens)

    def _on_pair(self, row: int, column: int) -> None:
        """Compare the two tokens of a cell; the column's is about to be selected."""
        if row != column:
            self._pair.set_other(row)
        self.workspace.draw_queue.later(self._show_pair)


def _has(run: ActivationRun, state: int) -> bool:
    return state < len(run.hidden_states)
