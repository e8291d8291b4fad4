"""Figures and small pictures of all heads of all layers, found layer by layer."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from PySide6.QtCore import QObject, Signal

from bertviewer.ui.views import attention_request
from bertviewer.ui.views.run_request import RunRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bertviewer.charts.levels import ColorIndices
    from bertviewer.core.analysis.attention_layers import AttentionLayer
    from bertviewer.core.analysis.attention_maps import HeadMeasures, Measure, RankedHead
    from bertviewer.core.loading.loaded_model import LoadedModel
    from bertviewer.core.util.progress import Progress
    from bertviewer.ui.jobs.recorded_run import RecordedRun
    from bertviewer.ui.state.workspace import Workspace


class HeadPiece(Struct, frozen=True, eq=False):
    """What is kept of one attention: figures of its heads, and small pictures [A, n, n]."""

    figures: HeadMeasures
    pictures: ColorIndices


def head_piece_job(
    layer: AttentionLayer, model: LoadedModel, watched: RecordedRun, progress: Progress
) -> HeadPiece:
    """Calculate an attention, and keep just figures and a small picture of each head."""
    from bertviewer.core.analysis.attention_maps import head_measures
    from bertviewer.plots.head_pictures import shaded

    maps = attention_request.attention_job(layer, model, watched, progress).maps
    return HeadPiece(head_measures(maps, watched.run), shaded(maps.probabilities, maps.masked))


class HeadSurvey(QObject):
    """What is known of the heads of the last run and of run A.

    ``look()`` has the layers computed one after the other, so that others get their turn between
    them; ``changed`` tells of each, in the queue of what is drawn, ``failed`` why one cannot be
    had. ``cancel()`` wants nothing more, and what is known stays until its run is gone.
    """

    changed = Signal()
    failed = Signal(str)

    def __init__(self, workspace: Workspace, parent: QObject) -> None:
        super().__init__(parent)
        self.layers: tuple[AttentionLayer, ...] = ()
        self._workspace = workspace
        self._known: dict[RecordedRun, dict[AttentionLayer, HeadPiece]] = {}
        self._request = RunRequest[HeadPiece](workspace, self)
        self._wanted: AttentionLayer | None = None
        self._is_looking = False
        self._request.finished.connect(self._on_finished)
        workspace.runs.run_changed.connect(self._forget)
        workspace.runs.comparison_changed.connect(self._forget)
        # There may be runs already.
        self._forget()

    @property
    def done(self) -> int:
        """How many layers are known of all runs."""
        return len(self.layers) - len(self._missing())

    def look(self, layers: Sequence[AttentionLayer]) -> None:
        """Find what is not known of these yet."""
        self.layers = tuple(layers)
        layer = next(iter(self._missing()), None)
        if layer is not None:
            self._wanted = layer
            self._request.want_of_runs(layer, partial(head_piece_job, layer))

    def cancel(self) -> None:
        """Want nothing more; what is known stays."""
        self._is_looking = False
        self._request.cancel()

    def pieces(self, run: RecordedRun) -> Mapping[AttentionLayer, HeadPiece]:
        """Return what is known of a run."""
        return self._known.get(run, {})

    def figures(self, run: RecordedRun) -> dict[AttentionLayer, HeadMeasures]:
        """Return the figures that are known of a run."""
        return {layer: piece.figures for layer, piece in self.pieces(run).items()}

    def ranked(self, measure: Measure) -> tuple[RankedHead, ...]:
        """Return the heads of the last run that are known, those with most of a measure first."""
        from bertviewer.core.analysis.attention_maps import ranked_heads

        watched = self._workspace.runs.watched
        if watched is None:
            return ()
        figures = self.figures(watched)
        found = {layer: figures[layer] for layer in self.layers if layer in figures}
        return ranked_heads(found, measure)

    def _forget(self) -> None:
        """Keep no more of runs that are gone."""
        self._known = {run: self._known.get(run, {}) for run in self._workspace.runs.both}

    def _missing(self) -> list[AttentionLayer]:
        runs = self._known.values()
        return [layer for layer in self.layers if any(layer not in known for known in runs)]

    def _on_finished(self) -> None:
        result, error = self._request.result, self._request.error
        if result is not None and self._wanted is not None:
            for run, piece in result.found.items():
                # It may be gone by now.
                if run in self._known:
                    self._known[run][self._wanted] = piece
        # What is known is kept here; what is not is tried once more when somebody looks again.
        self._request.forget()
        if error:
            self.failed.emit(error)
            return
        # The next layer waits until this one is drawn: the worker would take turns with that.
        self._is_looking = True
        self._workspace.draw_queue.later(self.changed.emit)
        self._workspace.draw_queue.later(self._look_on)

    def _look_on(self) -> None:
        if self._is_looking:
            self.look(self.layers)
