"""A run of an open model that a report looks at more closely."""

from msgspec import Struct

from bertviewer.core.analysis.attention_layers import AttentionLayer, attention_layers
from bertviewer.core.analysis.attention_maps import AttentionMaps
from bertviewer.core.analysis.predictions import Predictions
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.replay.attention import attention_of
from bertviewer.core.replay.predictions import predictions_at
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.progress import Progress


class LookedAt(Struct, frozen=True, eq=False):
    """The model, its run, what that kept, and who is told of what is done.

    What looks closer raises ``UserError`` where the model does not allow it, and ``Cancelled``.
    """

    model: LoadedModel
    run: ActivationRun
    kept: ActivationCache
    progress: Progress

    @property
    def attentions(self) -> tuple[AttentionLayer, ...]:
        """The attentions that the run called."""
        return attention_layers(self.model.architecture, self.run)

    def attention(self, layer: AttentionLayer) -> AttentionMaps:
        """Return what the heads of an attention look at."""
        model, run, kept = self.model, self.run, self.kept
        return attention_of(model, run, kept, layer.path, self.progress, call=layer.call)

    def predictions(self, place: int) -> Predictions:
        """Return what the model predicts at a place."""
        return predictions_at(self.model, self.run, self.kept, place, self.progress)
