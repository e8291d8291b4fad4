"""How alike two vectors are, layer by layer: those of two tokens, or of one word in two places."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import LineChart
from bertviewer.charts.comparison import Alignment
from bertviewer.charts.labels import MAX_TOKEN, shortened, token_name, visible
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import GRID
from bertviewer.charts.token_charts import pair_chart, word_chart
from bertviewer.core.analysis.similarity import WordPair, nearest_tokens, same_words
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.text import isolated
from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.run.offers import beside
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.choice_box import ChoiceBox
from bertviewer.ui.views.message import Offer
from bertviewer.ui.widgets.buttons import SegmentedControl, tool_button
from bertviewer.ui.widgets.layouts import hbox

TOKENS = "twoTokens"


class PairPanel(QWidget):
    """A chart of the selected token and another one, or of a word that occurs in both texts.

    ``other_chosen`` tells that a person chose another token to compare with.
    """

    other_chosen = Signal()

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._partners = Alignment()
        self._words: tuple[WordPair, ...] = ()
        self._token: int | None = None  # the selected one that was shown last
        self._is_new = self._is_stale = True  # the run; what occurs in both
        word = self.tr("The same word in both sentences, or in run A and this run")
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
        """Show the chart for the present selection."""
        run, token = self._workspace.runs.run, self._workspace.selection.token
        if run is None or token is None:
            return
        self._partners = partners
        if self._is_new:
            self._offer_tokens(run, token)
        elif token == self.other and self._token is not None:
            self.set_other(self._token)  # the two change places
        if self._is_stale:
            self._offer_words(run)
        self._is_new = self._is_stale = False
        self._token = token
        self._follow(run, token)
        self._show()

    def _offer_tokens(self, run: ActivationRun, token: int) -> None:
        self._other.clear()
        self._other.addItems([token_name(run, place) for place in range(len(run.tokens))])
        # The most similar one in the end is worth a look first; NaN is similar to nothing.
        others = (nearest_tokens(state, token, 1) for state in reversed(run.hidden_states))
        self.set_other(next((found[0][0] for found in others if found), token))

    def _offer_words(self, run: ActivationRun) -> None:
        run_a = self._workspace.runs.watched_a
        self._words = same_words(run, None if run_a is None else run_a.run)
        self._same.clear()
        self._same.addItems([self._word_name(word) for word in self._words])

    def _follow(self, run: ActivationRun, token: int) -> None:
        """Choose the word that the selected token is in, or one of another such token."""
        is_pair = self._workspace.runs.watched_a is None  # and both places are this run's
        places = [(*w.first.tokens, *(w.second.tokens if is_pair else ())) for w in self._words]
        own = [n for n, tokens in enumerate(places) if token in tokens]
        number = run.tokens[token].id
        alike = [n for n, tokens in enumerate(places) if run.tokens[tokens[0]].id == number]
        found = own or alike
        if found and self._same.currentIndex() not in found:
            self._same.setCurrentIndex(found[0])

    def _word_name(self, word: WordPair) -> str:
        first, second = word.first.tokens[0], word.second.tokens[0]
        form = "{0} ({1} ↔ {2})" if self._workspace.runs.watched_a is None else "{0} ({1} ↔ A {2})"
        return form.format(isolated(shortened(visible(word.text), MAX_TOKEN)), first, second)

    def _show(self) -> None:
        is_word = self._mode.chosen != TOKENS
        self._other.setVisible(not is_word)
        self._same.setVisible(is_word and bool(self._words))
        if is_word:
            self._show_word()
        else:
            self._show_tokens()

    def _show_word(self) -> None:
        run, run_a = self._workspace.runs.run, self._workspace.runs.watched_a
        chosen = self._same.currentIndex()
        if run is None:
            return
        if self._words:
            name = self._same.itemText(chosen)
            other = None if run_a is None else run_a.run
            self._panel.show_charts(word_chart(run, self._words[chosen], name, other))
        else:
            self._panel.show_message(
                self._why_no_word(run), Offer(self.tr("Compare two tokens"), self._compare_tokens)
            )

    def _why_no_word(self, run: ActivationRun) -> str:
        if self._workspace.runs.watched_a is not None:
            return self.tr("A and B have no word in common.")
        if run.sentence.pair is not None:
            return self.tr("The two sentences have no word in common.")
        return self.tr(
            "Add a second sentence that shares a word with the first, or keep this run as "
            "A and run another sentence."
        )

    def _compare_tokens(self) -> None:
        self._mode.choose(TOKENS)
        self._show()

    def _show_tokens(self) -> None:
        run, run_a, other = self._workspace.runs.run, self._workspace.runs.watched_a, self.other
        token = self._token
        if run is None or token is None or other is None:
            return
        partner = self._partners.in_a
        two = [(place, partner.get(place)) for place in (token, other)]
        label = " – ".join(token_name(run, *place) for place in two)
        a: LineChart | None = None
        if run_a is not None and (first := two[0][1]) is not None:
            second = two[1][1]
            a = None if second is None else pair_chart(run_a.run, first, second, label)
        if a is None and run_a is not None and self._workspace.runs.comparison == "difference":
            self._panel.show_message(self.tr("These tokens are not in A."), beside(self._workspace))
            return
        self._panel.show_charts(pair_chart(run, token, other, label), a)

    def _on_run(self) -> None:
        self._is_new = self._is_stale = True

    def _on_comparison(self) -> None:
        self._is_stale = True

    def _on_other(self) -> None:
        self._show()
        self.other_chosen.emit()

    def _on_word(self, chosen: int) -> None:
        self._workspace.selection.go(SelectionKey(token=self._words[chosen].first.tokens[0]))
        self._show()
