"""One head of an attention, large, with its entropy and its distance."""

from collections.abc import Sequence
from functools import partial
from math import log

from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QWidget

from bertviewer.charts.attention import AttentionPair, RunAttention, head_chart
from bertviewer.charts.labels import token_name
from bertviewer.charts.theme import SMALL
from bertviewer.core.analysis.attention_maps import Shares, most_attended, most_attending
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.plots.arc_plot import ArcPlot
from bertviewer.plots.fonts import sized
from bertviewer.plots.token_matrix import TokenMatrix
from bertviewer.ui.run.picture_choice import Picture
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.widgets.labels import ElidedLabel
from bertviewer.ui.widgets.layouts import stacked, vbox

MOST = 5
"""So many tokens are named."""


class MostLabel(ElidedLabel):
    """The tokens with the largest shares of one token's attention."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("mostAttended")
        self.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self.setFont(sized(self.font(), SMALL))

    def show_token(self, attended: RunAttention, head: int, token: int | None) -> None:
        """Name what a token looks at; of one that does not ask here, what looks at it."""
        run, maps = attended.run, attended.maps
        text = ""
        if token is not None and token in maps.query_tokens:
            text = self.tr("{0} attends most to  {1}").format(
                token_name(run, token), _words(run, most_attended(maps, head, token, MOST))
            )
        elif token is not None and token in maps.key_tokens:
            text = self.tr("{0} is attended to most by  {1}").format(
                token_name(run, token), _words(run, most_attending(maps, head, token, MOST))
            )
        self.setText(text)


def _words(run: ActivationRun, shares: Shares) -> str:
    return "  ·  ".join(f"{token_name(run, token)} {share:.3f}" for token, share in shares)


class HeadPanel(QWidget):
    """A matrix, queries downwards and keys to the right, or lines from queries to keys.

    A click selects a token.
    """

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
        self._most = MostLabel()
        vbox((self._pages, 1), self._most, parent=self, spacing=0)

    def turn_to(self, picture: Picture) -> None:
        """Show it in another way."""
        self._picture = picture
        self._panels[picture].take_controls(*self._controls)
        self._pages.setCurrentWidget(self._panels[picture])
        if self._shown is not None:
            self.show_head(*self._shown)

    def show_head(self, pair: AttentionPair, head: int, is_root: bool, name: str = "") -> None:
        """Show a head of both runs, coloured by the square roots of the weights or by them.

        What is no single head has another ``name``.
        """
        self._shown = pair, head, is_root, name
        panel = self._panels[self._picture]
        panel.set_title(*self._figures(pair, head, name))
        make = partial(head_chart, head=head, is_root=is_root, name=name)
        panel.show_charts(*pair.charts(make), pair.partners)

    def show_most(self, attended: RunAttention, head: int, token: int | None) -> None:
        """Say what a token looks at most."""
        self._most.show_token(attended, head, token)

    def clear(self) -> None:
        """Show nothing."""
        self._shown = None
        self._most.clear()
        for panel in self._panels.values():
            panel.set_title("")
            panel.show_charts(None)

    def _figures(self, pair: AttentionPair, head: int, name: str) -> tuple[str, str]:
        """Return the head's figures, and what they mean."""
        both = [one.maps for one in (pair.b, pair.a) if one is not None]
        keys = pair.b.maps.probabilities.shape[2]
        name = name[:1].upper() + name[1:] if name else self.tr("Head {0}").format(head)
        entropies = _beside(*(maps.entropies[head] for maps in both))
        text = self.tr("{0}: H {1} nats").format(name, entropies)
        tip = self.tr(
            "H: attention entropy, averaged over the query tokens:\n0 if each attends to a "
            "single token, ln {0} = {1} if each attends to all equally."
        ).format(keys, f"{log(keys):.3f}")
        distances = [maps.distances[head] for maps in both if maps.distances is not None]
        if distances:
            text += self.tr(", d {0} tokens").format(_beside(*distances))
            tip += "\n" + self.tr(
                "d: attention-weighted distance in tokens, averaged over the query tokens."
            )
        tip += "\n" + self.tr(
            "Scroll or press + and − to zoom, drag to move, double-click or press 0 to fit."
        )
        return text, tip


def _beside(b: float, a: float | None = None) -> str:
    """Return B's figure, and A's in brackets."""
    return f"{b:.3f}" if a is None else f"{b:.3f} (A {a:.3f})"
