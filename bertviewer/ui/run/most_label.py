"""What a token looks at most in a head, in a line."""

from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QWidget

from bertviewer.charts.attentions import Attended
from bertviewer.charts.naming import token_name
from bertviewer.charts.theme import SMALL
from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.analysis.attention_maps import Shares, most_attended, most_attending
from bertviewer.plots.fonts import sized
from bertviewer.ui.elided_label import ElidedLabel

MOST = 5
"""So many tokens are named."""


class MostLabel(ElidedLabel):
    """The tokens with the largest shares of one token's attention."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("mostAttended")
        self.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self.setFont(sized(self.font(), SMALL))

    def show_token(self, attended: Attended, head: int, token: int | None) -> None:
        """Name what a token looks at; of one that does not ask here, what looks at it."""
        run, maps = attended.run, attended.maps
        text = ""
        if token is not None and token in maps.query_tokens:
            text = self.tr("{0} looks most at  {1}").format(
                token_name(run, token), _words(run, most_attended(maps, head, token, MOST))
            )
        elif token is not None and token in maps.key_tokens:
            text = self.tr("{0} is looked at most by  {1}").format(
                token_name(run, token), _words(run, most_attending(maps, head, token, MOST))
            )
        self.setText(text)


def _words(run: ActivationRun, shares: Shares) -> str:
    return "  ·  ".join(f"{token_name(run, token)} {share:.3f}" for token, share in shares)
