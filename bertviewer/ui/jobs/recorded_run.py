"""A run as the window has it: its figures, and what it takes to look closer at it."""

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
    """``capture`` belongs to the worker's thread: jobs take it, and nobody else looks into it.

    A run that was read from a file has none: its figures are all that there is. ``model`` is what
    it is a run of, where that is not the open model. ``file`` is where it was read from, and
    ``is_saved_baseline`` whether it was run A there.
    """

    run: ActivationRun
    capture: "ActivationCache | None"
    model: "LoadedModel | None" = None
    file: str = ""
    is_saved_baseline: bool = False

    @property
    def kept(self) -> "ActivationCache":
        """The capture of a run that was made here.

        Raises:
            UserError: the run was read from a file.
        """
        if self.capture is None:
            raise UserError(FROM_FILE)
        return self.capture

    def cached(self, model: "LoadedModel") -> "CachedRun":
        """Return the run as one of ``model``, whose parts can be called again.

        Raises:
            UserError: the run was read from a file.
        """
        from bertviewer.core.replay.cached_run import CachedRun

        return CachedRun(model, self.run, self.kept)


Found = TypeVar("Found")
RunWork = Callable[["LoadedModel", RecordedRun, Progress], Found]
"""Looks closer at a run."""
