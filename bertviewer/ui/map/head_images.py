"""Images of attention heads in the last run, for the tiles of the map."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QImage

from bertviewer.charts.map.part_graphs import PartGraphs, Scope
from bertviewer.charts.theme import Theme
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.ui.jobs.job_queue import Request
from bertviewer.ui.state.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bertviewer.charts.levels import Levels, Values
    from bertviewer.core.analysis.attention_layers import AttentionLayer
    from bertviewer.core.loading.loaded_model import LoadedModel
    from bertviewer.core.util.progress import Progress

    Attentions = dict[str, tuple[Values, Levels]]
    """Reduced attention of all heads and its range, by the id of the attention node."""

MAX_CELLS = 96
"""Rows and columns of an image; longer sequences are averaged."""
_MAX_PARTS = 40
"""Parts whose attention is cached."""


class HeadImages(QObject):
    """Requests the attention of parts, and converts it to images.

    ``changed`` is emitted when there are other images.
    """

    changed = Signal()

    def __init__(self, workspace: Workspace, parent: QObject) -> None:
        super().__init__(parent)
        self.images: dict[tuple[Scope, str], tuple[QImage, ...]] = {}
        """An image for each head, by part and attention node."""
        self._workspace = workspace
        self._request = Request["Attentions"](workspace.jobs, self)
        self._request.finished.connect(self._on_finished)
        self._attentions: dict[Scope, Attentions] = {}
        self._theme: Theme | None = None
        workspace.runs.run_changed.connect(self._clear)

    def request(self, graphs: PartGraphs, scope: Scope, theme: Theme) -> None:
        """Request the images of a part in a theme, unless they are cached."""
        recorded = self._workspace.runs.current
        if theme != self._theme:
            self._theme = theme
            self._update_images()
        if recorded is None or scope in self._attentions:
            return
        layers = _attention_layers(graphs, scope, recorded)
        job = partial(compute_attentions, layers, recorded)
        if layers and self._request.want((recorded, scope), job):
            self._on_finished()

    def images_in(self, theme: Theme) -> dict[tuple[Scope, str], tuple[QImage, ...]]:
        """Return the cached images in the colours of a theme."""
        from numpy import isnan

        from bertviewer.plots.color_scale import ColorScale, color_table

        table = color_table(theme, False)
        images = {}
        for scope, attentions in self._attentions.items():
            for key, (values, levels) in attentions.items():
                # The square root makes small weights visible.
                scale = ColorScale(levels, table, is_root=True)
                # Only images with masked cells keep their alpha channel.
                images[scope, key] = tuple(
                    scale.image(head)
                    if isnan(head).any()
                    else scale.image(head).convertToFormat(QImage.Format.Format_RGB32)
                    for head in values
                )
        return images

    def _clear(self) -> None:
        self._request.forget()
        self._attentions, self.images = {}, {}
        self.changed.emit()

    def _on_finished(self) -> None:
        key, result = self._request.key, self._request.result
        if result is None or not isinstance(key, tuple):
            return
        recorded, scope = key
        if recorded is self._workspace.runs.current:
            while len(self._attentions) >= _MAX_PARTS:
                self._attentions.pop(next(iter(self._attentions)))
            self._attentions[scope] = result
            self._update_images()
            self.changed.emit()

    def _update_images(self) -> None:
        if self._theme is not None and self._attentions:
            self.images = self.images_in(self._theme)


def _attention_layers(
    graphs: PartGraphs, scope: Scope, recorded: RecordedRun
) -> Mapping[str, AttentionLayer]:
    """Return the attentions of a part that the run called, by the nodes that show them."""
    from bertviewer.core.analysis.attention_layers import attention_layers
    from bertviewer.core.analysis.attention_modules import attentions_at

    flow = graphs.flow(scope)
    nodes = [] if flow is None else [n for n in flow.nodes if n.operation == "attention"]
    if not nodes:
        return {}
    layers = attention_layers(graphs.architecture, recorded.run)
    found = {}
    for node in nodes:
        paths = attentions_at(graphs.architecture, node.path or "")
        inside = [layer for layer in layers if layer.path in paths]
        if len({layer.path for layer in inside}) == 1:
            found[node.id] = inside[scope.call if scope.call < len(inside) else 0]
    return found


def compute_attentions(
    layers: Mapping[str, AttentionLayer],
    recorded: RecordedRun,
    model: LoadedModel,
    progress: Progress,
) -> Attentions:
    """Compute the attention of all heads, reduced to ``MAX_CELLS``; runs in the worker.

    Attentions whose weights can't be computed are omitted; the Attention view tells why.
    """
    import numpy as np

    from bertviewer.charts.levels import PARTS, levels_of
    from bertviewer.core.replay.attention import attention_of
    from bertviewer.core.util.errors import UserError
    from bertviewer.plots.color_scale import reduced

    found = {}
    for key, layer in layers.items():
        try:
            maps = attention_of(recorded.cached(model), layer.path, progress, call=layer.call)
        except UserError:
            continue
        weights = maps.probabilities
        if maps.masked is not None:
            weights = np.where(maps.masked, np.nan, weights)
        values = reduced(weights, MAX_CELLS, MAX_CELLS)
        found[key] = values, levels_of(values, bounds=PARTS)
    return found
