"""A run of an open model that a report looks at more closely."""

from bertviewer.core.analysis.attention_layers import AttentionLayer, attention_layers
from bertviewer.core.analysis.attention_maps import AttentionMaps
from bertviewer.core.analysis.predictions import Predictions
from bertviewer.core.replay.attention import attention_of
from bertviewer.core.replay.cached_run import CachedRun
from bertviewer.core.replay.predictions import predictions_at
from bertviewer.core.util.progress import Progress


class LookedAt(CachedRun, frozen=True, eq=False):
    """A run and its model, with a progress callback.

    What looks closer raises ``UserError`` where the model does not allow it, and ``Cancelled``.
    """

    progress: Progress

    @property
    def attentions(self) -> tuple[AttentionLayer, ...]:
        """The attentions that the run called."""
        return attention_layers(self.model.architecture, self.run)

    def attention(self, layer: AttentionLayer) -> AttentionMaps:
        """Return what the heads of an attention look at."""
        return attention_of(self, layer.path, self.progress, call=layer.call)

    def predictions(self, place: int) -> Predictions:
        """Return what the model predicts at a place."""
        return predictions_at(self, place, self.progress)
