"""A run as the window has it: its figures, and what it takes to look closer at it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.progress import Progress

if TYPE_CHECKING:
    from bertviewer.core.loading.loaded_model import LoadedModel
    from bertviewer.core.run.capture import Capture


@dataclass(frozen=True, slots=True, eq=False)
class WatchedRun:
    """``capture`` belongs to the worker's thread: jobs take it, and nobody else looks into it."""

    run: ActivationRun
    capture: "Capture"


Found = TypeVar("Found")
RunWork = Callable[["LoadedModel", WatchedRun, Progress], Found]
"""Looks closer at a run."""
