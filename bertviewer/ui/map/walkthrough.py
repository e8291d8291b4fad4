"""The walk on the map: each step opens the part that it is in, and marks its nodes there."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from bertviewer.charts.map.part_graphs import PartGraphs, Scope
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.ui.map.canvas import FlowCanvas
from bertviewer.ui.map.step_player import WalkBar

if TYPE_CHECKING:
    from bertviewer.charts.map.playback import PlaybackStop


class Walking(QObject):
    """Has the canvas follow the steps; ``selected`` brings the module of each."""

    selected = Signal(str)
    toggled = Signal(bool)

    def __init__(self, canvas: FlowCanvas, parent: QObject) -> None:
        super().__init__(parent)
        self.bar = WalkBar()
        self.bar.hide()
        self._canvas = canvas
        self._atlas: PartGraphs | None = None
        self._run: ActivationRun | None = None
        self._is_built = False
        self._path = ""  # what was selected since the last step
        canvas.stepped.connect(self._on_stepped)
        canvas.play_wanted.connect(self._on_play)
        canvas.walk_wanted.connect(lambda: self.walk(not self.is_going_on))
        canvas.picked.connect(lambda _hit: self.bar.halt())
        self.bar.arrived.connect(self._on_arrived)

    @property
    def is_going_on(self) -> bool:
        """Whether the keys go through the walk."""
        return self._canvas.is_walking

    def set_model(self, atlas: PartGraphs, run: ActivationRun | None) -> None:
        """Walk through this model; what is shown stays as far as it can."""
        if atlas is self._atlas and run is self._run:
            return
        self._atlas, self._run, self._is_built = atlas, run, False
        if self.is_going_on:
            self._build()
            self.bar.go()

    def walk(self, is_wanted: bool) -> None:
        """Begin or end."""
        if is_wanted and (self._atlas is None or not self._build()):
            return
        self._canvas.is_walking = is_wanted
        self.bar.setVisible(is_wanted)
        if is_wanted:
            self._go_to_selected()
            self.bar.go()
        else:
            self.bar.halt()
        self.toggled.emit(is_wanted)

    def follow(self, path: str) -> None:
        """Go to the step that a selected module is in; a walk that begins later begins there."""
        self._path = path
        if self.is_going_on:
            self._go_to_selected()

    def _go_to_selected(self) -> None:
        stop, atlas = self.bar.stop, self._atlas
        if atlas is None or stop is None or stop.step.path == self._path:
            return
        from bertviewer.core.walkthrough.walkthrough import find_step

        steps = [each.step for each in self.bar.stops]
        step = find_step(steps, atlas.architecture, self._path)
        if step is not None:
            self.bar.halt()
            self.bar.at(step.number)

    def keys(self, part: Scope, path: str) -> tuple[str, ...] | None:
        """Return the nodes of the step that one is at, ``None`` where something else is shown."""
        stop = self.bar.stop
        if not self.is_going_on or stop is None or stop.part != part:
            return None
        return stop.keys if stop.step.path in (None, path) else None

    def _build(self) -> bool:
        """Find the stops, once for a model; return whether there are any."""
        assert self._atlas is not None
        if not self._is_built:
            from bertviewer.charts.map.playback import playback_stops
            from bertviewer.core.walkthrough.build import build_walkthrough

            self._is_built = True
            walkthrough = build_walkthrough(self._atlas.architecture, self._run)
            self.bar.set_stops(playback_stops(walkthrough, self._atlas), self._atlas.architecture)
        return bool(self.bar.stops)

    def _on_stepped(self, steps: int) -> None:
        self.bar.halt()
        self.bar.step(steps)

    def _on_play(self) -> None:
        if not self.is_going_on:
            self.walk(True)
        if self.is_going_on:
            self.bar.play()

    def _on_arrived(self, stop: "PlaybackStop") -> None:
        self._path = ""
        if stop.part != self._canvas.part:
            self._canvas.open(stop.part)
        if stop.step.path is not None:
            self.selected.emit(stop.step.path)
        self._canvas.mark(stop.keys, is_new=True)
