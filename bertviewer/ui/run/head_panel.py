"""Large chart of one attention head, with its entropy and distance."""

from collections.abc import Sequence
from functools import partial
from math import log

from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QWidget

from bertviewer.charts.attention import AttentionPair, RunAttention, head_chart
from bertviewer.charts.labels import token_name
from bertviewer.charts.theme import SMALL
from bertviewer.core.analysis.attention_maps import most_attended, most_attending
from bertviewer.plots.arc_plot import ArcPlot
from bertviewer.plots.fonts import sized
from bertviewer.plots.token_matrix import TokenMatrix
from bertviewer.ui.run.attention_controls import Picture
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.widgets.labels import ElidedLabel
from bertviewer.ui.widgets.layouts import named, stacked, vbox

MAX_NAMED = 5
"""Tokens that are named below the chart."""


class HeadPanel(QWidget):
    """A matrix with a row for each query and a column for each key, or arcs between tokens."""

    def __init__(self, workspace: Workspace, controls: Sequence[QWidget]) -> None:
        super().__init__()
        self._controls = tuple(controls)
        self._shown: tuple[AttentionPair, int, bool, str] | None = None
        self._panels: dict[Picture, ChartPanel] = {
            "matrix": ChartPanel(workspace, "", TokenMatrix),
            "arcs": ChartPanel(workspace, "", ArcPlot),
        }
        self._panels["matrix"].plot.setObjectName("headPlot")
        self._panels["arcs"].plot.setObjectName("arcPlot")
        self._pages = stacked(*self._panels.values())
        self._picture: Picture = "matrix"
        self._most_attended = named(ElidedLabel(), "mostAttended")
        self._most_attended.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._most_attended.setFont(sized(self._most_attended.font(), SMALL))
        vbox((self._pages, 1), self._most_attended, parent=self, spacing=0)

    def show_as(self, picture: Picture) -> None:
        """Show the head as a matrix or as arcs."""
        self._picture = picture
        self._panels[picture].add_controls(*self._controls)
        self._pages.setCurrentWidget(self._panels[picture])
        if self._shown is not None:
            self.show_head(*self._shown)

    def show_head(self, pair: AttentionPair, head: int, is_root: bool, name: str = "") -> None:
        """Show a head of both runs, with a linear or a square-root colour scale.

        ``name`` replaces "head 0" for a mean of heads.
        """
        self._shown = pair, head, is_root, name
        panel = self._panels[self._picture]
        panel.set_title(*self._title(pair, head, name))
        make = partial(head_chart, head=head, is_root=is_root, name=name)
        panel.show_charts(*pair.charts(make), pair.partners)

    def show_most_attended(self, attended: RunAttention, head: int, token: int | None) -> None:
        """Name the keys with the largest weights of a query token, or the queries of a key."""
        run, maps, text = attended.run, attended.maps, ""
        if token is not None and token in maps.query_tokens:
            text = self.tr("{0} attends most to  {1}")
            weights = most_attended(maps, head, token, MAX_NAMED)
        elif token is not None and token in maps.key_tokens:
            text = self.tr("{0} is attended to most by  {1}")
            weights = most_attending(maps, head, token, MAX_NAMED)
        if token is not None and text:
            names = "  ·  ".join(f"{token_name(run, t)} {weight:.3f}" for t, weight in weights)
            text = text.format(token_name(run, token), names)
        self._most_attended.setText(text)

    def clear(self) -> None:
        """Show nothing."""
        self._shown = None
        self._most_attended.clear()
        for panel in self._panels.values():
            panel.set_title("")
            panel.show_charts(None)

    def _title(self, pair: AttentionPair, head: int, name: str) -> tuple[str, str]:
        """Return the head's entropy and distance, and a tooltip that explains them."""
        both = [attended.maps for attended in (pair.b, pair.a) if attended is not None]
        keys = pair.b.maps.probabilities.shape[2]
        name = name[:1].upper() + name[1:] if name else self.tr("Head {0}").format(head)
        entropies = _values_text(*(maps.entropies[head] for maps in both))
        text = self.tr("{0}: H {1} nats").format(name, entropies)
        tip = self.tr(
            "H: attention entropy, averaged over the query tokens:\n0 if each attends to a "
            "single token, ln {0} = {1} if each attends to all equally."
        ).format(keys, f"{log(keys):.3f}")
        distances = [maps.distances[head] for maps in both if maps.distances is not None]
        if distances:
            text += self.tr(", d {0} tokens").format(_values_text(*distances))
            tip += "\n" + self.tr(
                "d: attention-weighted distance in tokens, averaged over the query tokens."
            )
        tip += "\n" + self.tr(
            "Scroll or press + and − to zoom, drag to move, double-click or press 0 to fit."
        )
        return text, tip


def _values_text(b: float, a: float | None = None) -> str:
    return f"{b:.3f}" if a is None else f"{b:.3f} (A {a:.3f})"
