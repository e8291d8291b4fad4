"""A run with its activation cache, from which parts of it can be replayed."""

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
    """A run, its model and its activation cache.

    In the window, access ``capture`` only from worker jobs.

    Attributes:
        run: the statistics and tokens.
        capture: the activation cache; ``None`` for a run that was loaded from a file.
        model: the model that was run; ``None`` for the open model.
        file: the file that the run was loaded from, empty for a run made here.
        is_saved_baseline: whether it is the baseline (run A) of that file.
    """

    run: ActivationRun
    capture: "ActivationCache | None"
    model: "LoadedModel | None" = None
    file: str = ""
    is_saved_baseline: bool = False

    @property
    def kept(self) -> "ActivationCache":
        """The activation cache.

        Raises:
            UserError: the run was loaded from a file.
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
"""A job that replays parts of a run."""
