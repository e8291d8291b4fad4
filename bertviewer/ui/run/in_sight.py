"""What a view of a run shows, as far as an explanation of it has to know."""

from typing import TYPE_CHECKING

from bertviewer.core.frozen import frozen

if TYPE_CHECKING:
    from bertviewer.core.analysis.attention_maps import AttentionMaps

QUESTIONED = ("Layers", "Token", "Similarity", "Attention", "Predictions", "Tokens", "Sentence")
"""The views, by their titles, about which there are questions."""


@frozen
class InSight:
    """A view's title, the attention that it shows and the hidden state, where it shows one."""

    title: str
    maps: "AttentionMaps | None" = None
    state: int | None = None

    @property
    def has_questions(self) -> bool:
        """Whether anything is asked about the view."""
        return self.title in QUESTIONED
