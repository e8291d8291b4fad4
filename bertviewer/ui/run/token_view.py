"""Token view: norm and cosines of the selected token and of pinned ones by hidden state."""

from msgspec import Struct
from PySide6.QtGui import QPalette
from typing_extensions import override

from bertviewer.charts.chart import LineChart
from bertviewer.charts.labels import names_of_states, token_name, token_title
from bertviewer.charts.token_charts import PathCharts, TracedToken, path_charts
from bertviewer.core.analysis.similarity import nearest_tokens
from bertviewer.core.analysis.tokens import align
from bertviewer.core.schema.activation_run import ActivationRun, Token
from bertviewer.core.util.numbers import with_minus
from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.run.run_view import RunView, show_both_action, show_view_action
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP
from bertviewer.ui.state.pages import Page
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.widgets.buttons import tool_button
from bertviewer.ui.widgets.labels import ElidedLabel
from bertviewer.ui.widgets.layouts import Gap, hbox, named, vbox

MAX_PINS = 5
"""With the selected token, as many as there are colours."""
NEAREST = 5

_Content = str | tuple[LineChart, LineChart | None, str | None]
"""A message, or the charts of the current run and the baseline and how they are compared."""


class _PathChart(Struct, frozen=True):
    """A chart of the view: its field in ``PathCharts``, its title, its plot's object name."""

    field: str
    title: str
    plot: str
    is_cosine: bool = True


CHARTS = (
    _PathChart("norms", QT_TRANSLATE_NOOP("TokenView", "Norm ‖h‖"), "normPath", is_cosine=False),
    _PathChart("to_start", QT_TRANSLATE_NOOP("TokenView", "Cosine to start"), "startPath"),
    _PathChart("to_before", QT_TRANSLATE_NOOP("TokenView", "Cosine to previous"), "beforePath"),
)


class TokenView(RunView[object]):
    """Three line charts over the hidden states; tokens can be pinned for comparison."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._tokens: tuple[Token, ...] = ()  # which the pins are positions in
        self._pins: list[int] = []
        self._wanted: list[_Content] = []
        self._shown: list[_Content | None] = [None] * len(CHARTS)
        self._title = named(ElidedLabel(), "tokenTitle")
        self._pin = tool_button("pinToken", self.tr("Pin"), is_checkable=True)
        self._unpin = tool_button("unpinTokens", self.tr("Unpin all"))
        self._nearest = named(ElidedLabel(), "nearestTokens")
        self._nearest.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        line = hbox(self._title, self._pin, self._unpin, Gap(12), (self._nearest, 1), spacing=6)
        self._panels = [
            ChartPanel(workspace, self.tr(kind.title), LinePlot, has_axis_titles=False)
            for kind in CHARTS
        ]
        for panel, kind in zip(self._panels, CHARTS, strict=True):
            panel.plot.setObjectName(kind.plot)
        charts = hbox(*((panel, 1) for panel in self._panels), spacing=8)
        vbox(line, (charts, 1), parent=self, margins=(0, 4, 0, 0), spacing=4)
        self._pin.clicked.connect(self._on_pin)
        self._unpin.clicked.connect(self._on_unpin)
        # Another model's tokens differ, even where their ids are the same.
        workspace.architecture_changed.connect(self._pins.clear)

    @override
    def refresh(self) -> None:
        run, token = self.workspace.runs.run, self.workspace.selection.token
        if run is None:
            return
        self._keep_pins(run)
        self._show_pins(token)
        if token is None or not run.token_norms:
            self._title.clear()
            self._nearest.clear()
            self._show([self.tr("This model has no hidden states.")] * len(CHARTS))
            return
        partner = self.partners().in_a
        title = token_title(run, token)
        if self.workspace.runs.baseline is not None and token not in partner:
            title = self.tr("{0}: not in A").format(title)
        self._title.setText(title)
        self._nearest.setText(self._nearest_text(run, token))
        traced = [
            TracedToken(place, token_name(run, place, partner.get(place)), color)
            for color, place in enumerate((*self._pins, *({token} - set(self._pins))))
        ]
        self._show(self._contents(run, traced, partner))

    @override
    def clear(self) -> None:
        super().clear()
        self._shown = [None] * len(CHARTS)

    def _contents(
        self, run: ActivationRun, traced: list[TracedToken], partner: dict[int, int]
    ) -> list[_Content]:
        runs = self.workspace.runs
        b, a = path_charts(run, traced), self._baseline_charts(traced, partner)
        comparison = None if runs.baseline is None else runs.comparison
        contents: list[_Content] = []
        for kind in CHARTS:
            if kind.is_cosine and not run.hidden_states:
                contents.append(self.tr("The hidden states of this model differ in size."))
            elif comparison == "difference" and a is None:
                contents.append(self.tr("This token is not in A."))
            else:
                of_a = None if a is None else getattr(a, kind.field)
                contents.append((getattr(b, kind.field), of_a, comparison))
        return contents

    def _baseline_charts(
        self, traced: list[TracedToken], partner: dict[int, int]
    ) -> PathCharts | None:
        """Return the baseline's charts of the same tokens, ``None`` if it has none of them."""
        found = [
            TracedToken(partner[one.token], one.label, one.color)
            for one in traced
            if one.token in partner
        ]
        baseline = self.workspace.runs.baseline
        return path_charts(baseline.run, found) if baseline is not None and found else None

    def _show(self, wanted: list[_Content]) -> None:
        """Draw the panels that have changed, one per event-loop turn."""
        self._wanted = wanted
        self.workspace.deferred.add(self._draw_next)

    def _draw_next(self) -> None:
        for number, wanted in enumerate(self._wanted):
            if self._shown[number] == wanted:
                continue
            self._shown[number] = wanted
            if not isinstance(wanted, str):
                self._panels[number].show_charts(*wanted[:2])
            elif self.workspace.runs.baseline is not None:
                self._panels[number].show_message(wanted, show_both_action(self.workspace))
            else:
                title = self.tr("Show the histogram")
                action = show_view_action(self.workspace, Page.HISTOGRAM, title)
                self._panels[number].show_message(wanted, action)
            self.workspace.deferred.add(self._draw_next)
            return

    def _nearest_text(self, run: ActivationRun, token: int) -> str:
        """Return the tokens that are most similar to one at the selected module's state."""
        states = run.hidden_states
        if not states:
            return ""
        path = self.workspace.selection.place.path
        state = None if path is None else run.state_of(path)
        if state is None:
            state = len(states) - 1
        found = nearest_tokens(states[state], token, NEAREST)
        if not found:
            return ""
        nearest = "  ·  ".join(
            f"{token_name(run, n)} {with_minus(f'{cosine:.3f}')}" for n, cosine in found
        )
        return self.tr("Nearest at {0}:  {1}").format(names_of_states(run)[state], nearest)

    def _keep_pins(self, run: ActivationRun) -> None:
        """Pin the same tokens in another run."""
        if self._pins and run.tokens != self._tokens:
            same = dict(align(self._tokens, run.tokens))
            self._pins[:] = [same[pin] for pin in self._pins if pin in same]
        self._tokens = run.tokens

    def _show_pins(self, token: int | None) -> None:
        is_pinned = token in self._pins
        can_pin = token is not None and (is_pinned or len(self._pins) < MAX_PINS)
        self._pin.setChecked(is_pinned)
        self._pin.setEnabled(can_pin)
        self._pin.setToolTip(
            self.tr("Pin this token’s lines to compare other tokens with it")
            if can_pin
            else self.tr("At most {0} tokens can be pinned").format(MAX_PINS)
        )
        self._unpin.setVisible(bool(self._pins))

    def _on_pin(self, is_pinned: bool) -> None:
        token = self.workspace.selection.token
        if token is None:
            return
        if is_pinned:
            self._pins.append(token)
        else:
            self._pins.remove(token)
        self.refresh()

    def _on_unpin(self) -> None:
        self._pins.clear()
        self.refresh()
