"""One token's path through the layers, and those of others that are pinned beside it."""

from msgspec import Struct
from PySide6.QtGui import QPalette

from bertviewer.charts.chart import LineChart
from bertviewer.charts.labels import names_of_states, token_name, token_title
from bertviewer.charts.token_charts import PathCharts, TracedToken, path_charts
from bertviewer.core.analysis.similarity import nearest_tokens
from bertviewer.core.analysis.tokens import align
from bertviewer.core.schema.activation_run import ActivationRun, Token
from bertviewer.core.util.numbers import with_minus
from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.run.offers import another_view, beside
from bertviewer.ui.run.view import View
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.message import Offer
from bertviewer.ui.widgets.buttons import tool_button
from bertviewer.ui.widgets.labels import ElidedLabel
from bertviewer.ui.widgets.layouts import Gap, hbox, named, vbox

MOST_PINS = 5
"""With the selected token these are as many as there are colours."""
NEAREST = 5

_Shown = str | tuple[LineChart, LineChart | None, str | None]
"""What a panel shows: a message, or B's chart and A's and how they are compared."""


class _PathChart(Struct, frozen=True):
    """A chart of the view: its name in ``PathCharts``, its title, its plot's object name."""

    name: str
    title: str
    plot: str
    is_cosine: bool = True


FIGURES = (
    _PathChart("norms", QT_TRANSLATE_NOOP("TokenView", "Norm ‖h‖"), "normPath", is_cosine=False),
    _PathChart("to_start", QT_TRANSLATE_NOOP("TokenView", "Cosine to start"), "startPath"),
    _PathChart("to_before", QT_TRANSLATE_NOOP("TokenView", "Cosine to previous"), "beforePath"),
)


class TokenView(View):
    """The selected token's norm and cosines, hidden state by hidden state."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._tokens: tuple[Token, ...] = ()  # those that the pins are of
        self._pins: list[int] = []
        self._wanted: list[_Shown] = []
        self._shown: list[_Shown | None] = [None] * len(FIGURES)
        self._title = named(ElidedLabel(), "tokenTitle")
        self._pin = tool_button("pinToken", self.tr("Pin"), is_checkable=True)
        self._unpin = tool_button("unpinTokens", self.tr("Unpin all"))
        self._nearest = named(ElidedLabel(), "nearestTokens")
        self._nearest.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        line = hbox(self._title, self._pin, self._unpin, Gap(12), (self._nearest, 1), spacing=6)
        self._panels = [
            ChartPanel(workspace, self.tr(kind.title), LinePlot, has_axis_titles=False)
            for kind in FIGURES
        ]
        charts = hbox(spacing=8)
        for panel, kind in zip(self._panels, FIGURES, strict=True):
            panel.plot.setObjectName(kind.plot)
            charts.addWidget(panel, 1)
        vbox(line, (charts, 1), parent=self, margins=(0, 4, 0, 0), spacing=4)
        self._pin.clicked.connect(self._on_pin)
        self._unpin.clicked.connect(self._on_unpin)
        # The tokens of another model are others, even where their numbers are the same.
        workspace.architecture_changed.connect(self._pins.clear)

    @property
    def pins(self) -> tuple[int, ...]:
        """The tokens that are pinned, in the order in which they were."""
        return tuple(self._pins)

    def refresh(self) -> None:
        """Show the selected token's charts, with the pinned ones'."""
        run, token = self.workspace.runs.run, self.workspace.selection.token
        if run is None:
            return
        self._keep_pins(run)
        self._show_pins(token)
        if token is None or not run.token_norms:
            self._title.clear()
            self._nearest.clear()
            self._show([self.tr("This model has no hidden states.")] * len(FIGURES))
            return
        partner = self.partners().in_a
        title = token_title(run, token)
        if self.workspace.runs.watched_a is not None and token not in partner:
            title = self.tr("{0}: not in A").format(title)
        self._title.setText(title)
        self._show_nearest(run, token)
        shown = [*self._pins, *({token} - set(self._pins))]
        traced = [
            TracedToken(place, token_name(run, place, partner.get(place)), color)
            for color, place in enumerate(shown)
        ]
        self._show(self._charts(run, traced, partner))

    def _charts(
        self, run: ActivationRun, traced: list[TracedToken], partner: dict[int, int]
    ) -> list[_Shown]:
        """Return what each panel is to show."""
        b, a = path_charts(run, traced), self._charts_of_a(traced, partner)
        comparison = (
            self.workspace.runs.comparison if self.workspace.runs.watched_a is not None else None
        )
        shown: list[_Shown] = []
        for kind in FIGURES:
            if kind.is_cosine and not run.hidden_states:
                shown.append(self.tr("The hidden states of this model differ in size."))
            elif comparison == "difference" and a is None:
                shown.append(self.tr("This token is not in A."))
            else:
                of_a = None if a is None else getattr(a, kind.name)
                shown.append((getattr(b, kind.name), of_a, comparison))
        return shown

    def _show(self, wanted: list[_Shown]) -> None:
        """Draw what is new, one panel a turn."""
        self._wanted = wanted
        self.workspace.draw_queue.later(self._draw)

    def _draw(self) -> None:
        for number, wanted in enumerate(self._wanted):
            if self._shown[number] == wanted:
                continue
            self._shown[number] = wanted
            if isinstance(wanted, str):
                self._panels[number].show_message(wanted, self._offer())
            else:
                self._panels[number].show_charts(*wanted[:2])
            self.workspace.draw_queue.later(self._draw)
            return

    def _offer(self) -> Offer:
        """Return what there is to do where a chart cannot be had."""
        if self.workspace.runs.watched_a is not None:
            return beside(self.workspace)
        return another_view(self.workspace, "Histogram", self.tr("Show the histogram"))

    def _charts_of_a(self, traced: list[TracedToken], partner: dict[int, int]) -> PathCharts | None:
        """Return run A's charts of the same tokens, ``None`` if it has none of them."""
        found = [
            TracedToken(partner[one.token], one.label, one.color)
            for one in traced
            if one.token in partner
        ]
        run_a = self.workspace.runs.watched_a
        return path_charts(run_a.run, found) if run_a is not None and found else None

    def _show_nearest(self, run: ActivationRun, token: int) -> None:
        """Name the tokens most like the selected one, where the selected module is."""
        path = self.workspace.selection.place.path
        states = run.hidden_states
        state = None if path is None else run.state_of(path)
        if state is None:
            state = len(states) - 1
        found = nearest_tokens(states[state], token, NEAREST) if states else ()
        text = ""
        if found:
            nearest = "  ·  ".join(
                f"{token_name(run, n)} {with_minus(f'{cosine:.3f}')}" for n, cosine in found
            )
            name = names_of_states(run)[state]
            text = self.tr("Nearest at {0}:  {1}").format(name, nearest)
        self._nearest.setText(text)

    def _keep_pins(self, run: ActivationRun) -> None:
        """Pin the same tokens in another run."""
        if self._pins and run.tokens != self._tokens:
            same = dict(align(self._tokens, run.tokens))
            self._pins[:] = [same[pin] for pin in self._pins if pin in same]
        self._tokens = run.tokens

    def _show_pins(self, token: int | None) -> None:
        is_pinned = token in self._pins
        self._pin.setChecked(is_pinned)
        self._pin.setEnabled(token is not None and (is_pinned or len(self._pins) < MOST_PINS))
        self._pin.setToolTip(
            self.tr("Pin this token’s lines to compare other tokens with it")
            if self._pin.isEnabled()
            else self.tr("At most {0} tokens can be pinned").format(MOST_PINS)
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
