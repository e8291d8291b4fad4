"""A run in the window: its statistics, and the cache from which it is replayed."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress

if TYPE_CHECKING:
    from bertviewer.core.loading.loaded_model import LoadedModel
    from bertviewer.core.replay.cached_run import CachedRun
    from bertviewer.core.runs.activation_cache import ActivationCache


FROM_FILE = "This run was loaded from a file. For details, open its model and run it again."


class RecordedRun(Struct, frozen=True, eq=False):
    """A run of the open model, of another one, or from a file.

    Attributes:
        run: tokens and statistics.
        capture: the cached activations; access it only from worker jobs. ``None`` for a run from
            a file.
        model: the model, if it is not the open one.
        file: the file that it was read from.
        is_saved_baseline: whether it was the baseline in that file.
    """

    run: ActivationRun
    capture: "ActivationCache | None"
    model: "LoadedModel | None" = None
    file: str = ""
    is_saved_baseline: bool = False

    @property
    def kept(self) -> "ActivationCache":
        """The cached activations.

        Raises:
            UserError: the run was read from a file.
        """
        if self.capture is None:
            raise UserError(FROM_FILE)
        return self.capture

    def cached(self, model: "LoadedModel") -> "CachedRun":
        """Return the run with its model, to be replayed.

        Raises:
            UserError: the run was read from a file.
        """
        from bertviewer.core.replay.cached_run import CachedRun

        return CachedRun(model, self.run, self.kept)


Found = TypeVar("Found")
RunWork = Callable[["LoadedModel", RecordedRun, Progress], Found]
"""Replays a part of a run."""
