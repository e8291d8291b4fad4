"""Similarity view: cosines of all tokens at one layer, and of two tokens or words at all layers."""

import numpy as np
from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QCheckBox, QLabel, QSlider, QWidget
from typing_extensions import override

from bertviewer.charts.chart import LineChart
from bertviewer.charts.comparison import Alignment
from bertviewer.charts.labels import MAX_TOKEN, names_of_states, shortened, token_name, visible
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import GRID
from bertviewer.charts.token_charts import pair_chart, similarity_chart, word_chart
from bertviewer.core.analysis.similarity import WordPair, nearest_tokens, same_words
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.text import isolated
from bertviewer.plots.line_plot import LinePlot
from bertviewer.plots.token_matrix import TokenMatrix
from bertviewer.ui.run.run_view import RunView, ViewTopic, show_both_action, show_view_action
from bertviewer.ui.state.pages import Page
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.choice_box import ChoiceBox
from bertviewer.ui.views.empty_state import CallToAction
from bertviewer.ui.widgets.buttons import SegmentedControl, tool_button
from bertviewer.ui.widgets.layouts import hbox, named, split

MAX_SLIDER_WIDTH = 160  # pixels
TOKENS = "twoTokens"


class SimilarityView(RunView[object]):
    """Cosines of all tokens at one layer, and those of two tokens or one word at all layers."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        # What the grid shows: drawing 512 tokens again for another selection takes too long.
        self._drawn: tuple[int, bool] | None = None
        self._state = StateSlider()
        self._fixed_scale = named(
            QCheckBox(self.tr("Fix colour scale to −1…1")),
            "wholeRange",
            tooltip=self.tr(
                "Colours cover −1 to 1; otherwise, 0 to 1 at layers without negative cosines"
            ),
        )
        self._fixed_scale.setChecked(True)
        self._grids: list[TokenMatrix] = []  # the current run's, and the baseline's
        tip = self.tr("Compare two sentences as vectors, against unrelated sentences")
        sentences = tool_button("wholeSentences", self.tr("Sentences"), tip)
        sentences.setAutoRaise(True)
        controls = (self._state, self._fixed_scale, sentences)
        self._tokens = ChartPanel(workspace, self.tr("Cosine at"), self._make_grid, controls)
        self._grids[0].setObjectName("similarityGrid")
        self._pair = PairPanel(workspace)
        hbox(split(self._tokens, self._pair, sizes=(1, 1)), parent=self, margins=(0, 4, 0, 0))
        self._state.chosen.connect(self._on_state)
        self._fixed_scale.toggled.connect(self._show_tokens)
        sentences.clicked.connect(self._show_sentences)
        self._grids[0].paired.connect(self._on_cell)
        self._pair.other_chosen.connect(self._mark_other)
        workspace.runs.run_changed.connect(self._redraw)
        workspace.runs.comparison_changed.connect(self._redraw)

    @property
    def other(self) -> int | None:
        """The token that the selected one is compared with."""
        return self._pair.other

    @override
    def topic(self, title: str) -> ViewTopic:
        return ViewTopic(title, state=self._state.state)

    @override
    def refresh(self) -> None:
        run = self.workspace.runs.run
        if run is None:
            return
        has_states = bool(run.hidden_states)
        for widget in (self._state, self._fixed_scale, self._pair):
            widget.setVisible(has_states)
        if not has_states:
            text = self.tr("This model has no hidden states of equal size to compare.")
            action = show_view_action(self.workspace, Page.HISTOGRAM, self.tr("Show the histogram"))
            self._tokens.show_message(text, action)
            return
        self._state.follow(run, self.workspace.selection.place.path)
        self.workspace.deferred.add(self._show_pair)
        self.workspace.deferred.add(self._show_tokens)

    def _redraw(self) -> None:
        self._drawn = None

    def _show_tokens(self) -> None:
        run, baseline = self.workspace.runs.run, self.workspace.runs.baseline
        wanted = self._state.state, self._fixed_scale.isChecked()
        if run is None or wanted[0] >= len(run.hidden_states) or wanted == self._drawn:
            return
        self._drawn = wanted
        # A difference has its own colours.
        is_overlay = self.workspace.runs.comparison == "overlay"
        self._fixed_scale.setEnabled(baseline is None or is_overlay)
        b, a = similarity_chart(run, *wanted), None
        if baseline is not None and wanted[0] < len(baseline.run.hidden_states):
            a = similarity_chart(baseline.run, *wanted)
        if any(np.isfinite(chart.values).any() for chart in (b, a) if chart is not None):
            self._tokens.show_charts(b, a, self.partners(rows=True))
        else:
            self._tokens.show_message(
                self.tr("No cosine is defined here: the vectors are zero or not finite."),
                show_view_action(self.workspace, Page.LAYERS, self.tr("Show the layers")),
            )
        self._mark_other()

    def _show_pair(self) -> None:
        run = self.workspace.runs.run
        if run is not None and run.hidden_states:
            self._pair.refresh(self.partners())
            self._mark_other()

    def _show_sentences(self) -> None:
        self.workspace.show_page(Page.SENTENCE)

    def _make_grid(self) -> TokenMatrix:
        self._grids.append(TokenMatrix(selects_pairs=True))
        return self._grids[-1]

    def _mark_other(self) -> None:
        """Mark the row of the other token in both grids."""
        of_b, *of_a = self._grids
        of_b.mark_row(self.other)
        for grid in of_a:
            partner = None if self.other is None else self.partners().in_a.get(self.other)
            grid.mark_row(partner)

    def _on_state(self, state: int) -> None:
        run = self.workspace.runs.run
        if run is None:
            return
        path = run.state_path(state, self.workspace.selection.token or 0)
        self.workspace.selection.go(SelectionKey(path or None))
        self.workspace.deferred.add(self._show_tokens)

    def _on_cell(self, row: int, column: int) -> None:
        """Compare the two tokens of a cell; the click selects the column's."""
        if row != column:
            self._pair.set_other(row)
        self.workspace.deferred.add(self._show_pair)


class StateSlider(QWidget):
    """Slider over the hidden states, with the name of the chosen one; the last one at first.

    ``chosen`` carries the state that the user has moved it to.
    """

    chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._preferred: int | None = None
        self._path: str | None = None  # the last module that was followed
        self._names: tuple[str, ...] = ()
        self._slider = named(
            QSlider(Qt.Orientation.Horizontal),
            "stateChoice",
            accessible_name=self.tr("Hidden state to show"),
        )
        self._slider.setPageStep(1)
        self._slider.setMinimumWidth(50)
        self._slider.setMaximumWidth(MAX_SLIDER_WIDTH)
        self._label = named(QLabel(), "stateName")
        hbox((self._slider, 1), self._label, parent=self, spacing=6)
        self._slider.valueChanged.connect(self._on_moved)

    @property
    def state(self) -> int:
        """The chosen hidden state."""
        return self._slider.value()

    def follow(self, run: ActivationRun, path: str | None) -> None:
        """Offer a run's hidden states; choose the one of the module at ``path`` if it is new."""
        self._names = names_of_states(run)
        last = len(self._names) - 1
        state = last if self._preferred is None else min(self._preferred, last)
        if path != self._path:
            self._path = path
            found = None if path is None or _returns(run, state, path) else run.state_of(path)
            if found is not None:
                state, self._preferred = min(found, last), found
        with QSignalBlocker(self._slider):
            self._slider.setRange(0, max(0, last))
            self._slider.setValue(state)
        # The slider must not move under the mouse when the name changes.
        metrics = self._label.fontMetrics()
        widths = [metrics.horizontalAdvance(name) for name in self._names]
        self._label.setFixedWidth(max(widths, default=0) + 2)
        self._show_name()

    def _on_moved(self, state: int) -> None:
        self._preferred = state
        self._show_name()
        self.chosen.emit(state)

    def _show_name(self) -> None:
        self._label.setText(self._names[self.state] if self._names else "")


def _returns(run: ActivationRun, state: int, path: str) -> bool:
    """Return whether a state is an output of the module at ``path`` or of one around it.

    A module that is called repeatedly, such as ALBERT's layer, returns several states.
    """
    sources = run.state_paths[state] if 0 <= state < len(run.state_paths) else ()
    return any(source and f"{path}.".startswith(f"{source}.") for source in sources)


class PairPanel(QWidget):
    """Cosines of the selected token and another one by layer, or of a word that occurs twice.

    ``other_chosen`` is emitted when the user has chosen another token to compare with.
    """

    other_chosen = Signal()

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._partners = Alignment()
        self._words: tuple[WordPair, ...] = ()
        self._token: int | None = None  # the selected token that was shown last
        self._is_new_run = self._is_new_comparison = True
        word = self.tr("The same word in both sentences, or in the baseline and this run")
        self._mode = SegmentedControl(
            (
                tool_button(TOKENS, self.tr("Tokens"), self.tr("Two tokens of this run")),
                tool_button("sameWord", self.tr("Word"), word),
            ),
            2 * GRID,
        )
        self._mode.choose(TOKENS)
        self._other = ChoiceBox("otherToken", self.tr("Token to compare with the selected one"))
        self._same = ChoiceBox("sameWords", self.tr("Word that occurs in both"))
        self._same.hide()
        controls = (self._mode, self._other, self._same)
        self._panel = ChartPanel(workspace, "", LinePlot, controls)
        self._panel.plot.setObjectName("pairPath")
        hbox(self._panel, parent=self)
        self._mode.turned.connect(self._show)
        self._other.activated.connect(self._on_other)
        self._same.activated.connect(self._on_word)
        workspace.runs.run_changed.connect(self._on_run)
        workspace.runs.comparison_changed.connect(self._on_comparison)

    @property
    def other(self) -> int | None:
        """The token that the selected one is compared with."""
        return self._other.currentIndex() if self._other.count() else None

    def set_other(self, token: int) -> None:
        """Compare the selected token with another one."""
        self._other.setCurrentIndex(token)

    def refresh(self, partners: Alignment) -> None:
        """Show the chart for the current selection."""
        run, token = self._workspace.runs.run, self._workspace.selection.token
        if run is None or token is None:
            return
        self._partners = partners
        if self._is_new_run:
            self._offer_tokens(run, token)
        elif token == self.other and self._token is not None:
            self.set_other(self._token)  # the two are swapped
        if self._is_new_comparison:
            self._offer_words(run)
        self._is_new_run = self._is_new_comparison = False
        self._token = token
        self._choose_word(run, token)
        self._show()

    def _offer_tokens(self, run: ActivationRun, token: int) -> None:
        self._other.clear()
        self._other.addItems([token_name(run, place) for place in range(len(run.tokens))])
        # First the token that is most similar in the last state in which any is comparable.
        others = (nearest_tokens(state, token, 1) for state in reversed(run.hidden_states))
        self.set_other(next((found[0][0] for found in others if found), token))

    def _offer_words(self, run: ActivationRun) -> None:
        baseline = self._workspace.runs.baseline
        self._words = same_words(run, None if baseline is None else baseline.run)
        form = "{0} ({1} ↔ {2})" if baseline is None else "{0} ({1} ↔ A {2})"
        self._same.clear()
        for word in self._words:
            text = isolated(shortened(visible(word.text), MAX_TOKEN))
            self._same.addItem(form.format(text, word.first.tokens[0], word.second.tokens[0]))

    def _choose_word(self, run: ActivationRun, token: int) -> None:
        """Choose the word that contains the selected token, or another token of the same id."""
        is_pair = self._workspace.runs.baseline is None  # and both places are in this run
        places = [(*w.first.tokens, *(w.second.tokens if is_pair else ())) for w in self._words]
        containing = [n for n, tokens in enumerate(places) if token in tokens]
        token_id = run.tokens[token].id
        same_id = [n for n, tokens in enumerate(places) if run.tokens[tokens[0]].id == token_id]
        found = containing or same_id
        if found and self._same.currentIndex() not in found:
            self._same.setCurrentIndex(found[0])

    def _show(self) -> None:
        is_word = self._mode.chosen != TOKENS
        self._other.setVisible(not is_word)
        self._same.setVisible(is_word and bool(self._words))
        run = self._workspace.runs.run
        if run is not None and is_word:
            self._show_word(run)
        elif run is not None:
            self._show_tokens(run)

    def _show_word(self, run: ActivationRun) -> None:
        baseline, chosen = self._workspace.runs.baseline, self._same.currentIndex()
        if self._words:
            name, other = self._same.itemText(chosen), None if baseline is None else baseline.run
            self._panel.show_charts(word_chart(run, self._words[chosen], name, other))
            return
        if baseline is not None:
            why = self.tr("A and B have no word in common.")
        elif run.sentence.pair is not None:
            why = self.tr("The two sentences have no word in common.")
        else:
            why = self.tr(
                "Add a second sentence that shares a word with the first, or set this run as "
                "baseline and run another sentence."
            )
        compare = CallToAction(self.tr("Compare two tokens"), self._compare_tokens)
        self._panel.show_message(why, compare)

    def _compare_tokens(self) -> None:
        self._mode.choose(TOKENS)
        self._show()

    def _show_tokens(self, run: ActivationRun) -> None:
        runs, token, other = self._workspace.runs, self._token, self.other
        if token is None or other is None:
            return
        partners = [self._partners.in_a.get(place) for place in (token, other)]
        label = f"{token_name(run, token, partners[0])} – {token_name(run, other, partners[1])}"
        a: LineChart | None = None
        if runs.baseline is not None:
            match partners:
                case [int(first), int(second)]:
                    a = pair_chart(runs.baseline.run, first, second, label)
            if a is None and runs.comparison == "difference":
                self._panel.show_message(
                    self.tr("These tokens are not in A."), show_both_action(self._workspace)
                )
                return
        self._panel.show_charts(pair_chart(run, token, other, label), a)

    def _on_run(self) -> None:
        self._is_new_run = self._is_new_comparison = True

    def _on_comparison(self) -> None:
        self._is_new_comparison = True

    def _on_other(self) -> None:
        self._show()
        self.other_chosen.emit()

    def _on_word(self, chosen: int) -> None:
        self._workspace.selection.go(SelectionKey(token=self._words[chosen].first.tokens[0]))
        self._show()
