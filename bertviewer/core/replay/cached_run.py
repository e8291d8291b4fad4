"""A run whose parts can be called again."""

from msgspec import Struct
from torch import nn

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.progress import Progress


class CachedRun(Struct, frozen=True, eq=False):
    """A run of an open model, and the recorded calls that it is replayed from."""

    model: LoadedModel
    run: ActivationRun
    cache: ActivationCache

    def module(self, progress: Progress) -> nn.Module:
        """Return the model's module on the run's device; a later run may have been on another.

        Raises:
            UserError: the device does not accept the weights.
            Cancelled: by ``progress``.
        """
        return self.model.module(random_weights=True, progress=progress, device=self.run.device)
