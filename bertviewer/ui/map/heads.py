"""The heads' pictures on the map: what they look at in the last run."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QImage

from bertviewer.charts.map.part_graphs import PartGraphs, Scope
from bertviewer.charts.theme import Theme
from bertviewer.ui.jobs.job_queue import Request
from bertviewer.ui.jobs.recorded_run import RecordedRun
from bertviewer.ui.map.jobs import heads_job
from bertviewer.ui.state.workspace import Workspace

if TYPE_CHECKING:
    from bertviewer.charts.levels import Levels, Values
    from bertviewer.core.analysis.attention_layers import AttentionLayer
    from bertviewer.plots.color_scale import ColorScale

_MOST_KEPT = 40
"""Pictures of so many parts are kept: one may go from layer to layer."""

Heads = dict[str, "tuple[Values, Levels]"]


class HeadPictures(QObject):
    """Has the attention of the opened part computed; ``changed`` says that pictures are there."""

    changed = Signal()

    def __init__(self, workspace: Workspace, parent: QObject) -> None:
        super().__init__(parent)
        self.images: dict[tuple[Scope, str], tuple[QImage, ...]] = {}
        """One image for each head, by the part and the node of an attention."""
        self._workspace = workspace
        self._request = Request[Heads](workspace.jobs, self)
        self._request.finished.connect(self._on_finished)
        self._of: RecordedRun | None = None
        self._values: dict[Scope, Heads] = {}
        self._theme: Theme | None = None
        workspace.runs.run_changed.connect(self.forget)

    def want(self, atlas: PartGraphs, part: Scope, theme: Theme) -> None:
        """Have the pictures of a part, now or as soon as they are computed."""
        watched = self._workspace.runs.watched
        if theme != self._theme:
            self._theme = theme
            self._paint()
        if watched is None or part in self._values:
            return
        layers = self._attentions(atlas, part, watched)
        if layers and self._request.want((watched, part), partial(heads_job, layers, watched)):
            self._on_finished()

    def forget(self) -> None:
        """Keep nothing: the run is another one."""
        self._request.forget()
        self._values, self._of = {}, None
        self.images = {}
        self.changed.emit()

    def _on_finished(self) -> None:
        key, found = self._request.key, self._request.result
        if found is None or not isinstance(key, tuple):
            return
        watched, part = key
        if watched is not self._workspace.runs.watched:
            return
        while len(self._values) >= _MOST_KEPT:
            self._values.pop(next(iter(self._values)))
        self._values[part] = found
        self._paint()
        self.changed.emit()

    def _paint(self) -> None:
        if self._theme is not None and self._values:
            self.images = self.images_in(self._theme)

    def images_in(self, theme: Theme) -> dict[tuple[Scope, str], tuple[QImage, ...]]:
        """Return the pictures that are there in a theme's colours."""
        from bertviewer.plots.color_scale import ColorScale, color_table  # and with it numpy

        # Small shares are most of what there is to see.
        table = color_table(theme, False)
        return {
            (part, key): tuple(
                _image(ColorScale(levels, table, is_root=True), head) for head in values
            )
            for part, heads in self._values.items()
            for key, (values, levels) in heads.items()
        }

    def _attentions(
        self, atlas: PartGraphs, part: Scope, watched: RecordedRun
    ) -> "Mapping[str, AttentionLayer]":
        """Return the attentions of a part that the run called, by the nodes that show them."""
        from bertviewer.core.analysis.attention_layers import attention_layers
        from bertviewer.core.analysis.attention_modules import attentions_at

        flow = atlas.flow(part)
        nodes = [] if flow is None else [n for n in flow.nodes if n.operation == "attention"]
        if not nodes:
            return {}
        layers = attention_layers(atlas.architecture, watched.run)
        found = {}
        for node in nodes:
            paths = attentions_at(atlas.architecture, node.path or "")
            inside = [layer for layer in layers if layer.path in paths]
            if len({layer.path for layer in inside}) == 1:
                call = part.call if part.call < len(inside) else 0
                found[node.id] = inside[call]
        return found


def _image(scale: "ColorScale", values: "Values") -> QImage:
    """Return a head's picture; one that lets nothing be seen behind it says so by its format."""
    from numpy import isnan

    image = scale.image(values)
    return image if isnan(values).any() else image.convertToFormat(QImage.Format.Format_RGB32)
