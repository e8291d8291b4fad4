"""Walkthrough on the map: a bar with the current step, and playback that moves the canvas."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace
from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QLabel, QWidget
from typing_extensions import override

from bertviewer.charts.map.part_graphs import PartGraphs, Scope
from bertviewer.charts.theme import NORMAL
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.count_steps import readable
from bertviewer.plots.fonts import grown, monospaced, sized, weighted
from bertviewer.ui.map.canvas import FlowCanvas
from bertviewer.ui.theme.icons import put_icon
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.labels import ElidedLabel, muted
from bertviewer.ui.widgets.layouts import Gap, hbox, named, vbox

if TYPE_CHECKING:
    from bertviewer.charts.map.playback import PlaybackStop

STEP_TIME = 1800
"""Milliseconds for each step of the playback."""
_MAX_FORMULA_HEIGHT, _HEIGHT = 38, 70


class StepPlayer(QWidget):
    """Shows a step with its shapes, count and formula; ``arrived`` has the stop that is shown."""

    arrived = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("mapWalkBar")
        self.stops: tuple[PlaybackStop, ...] = ()
        self._index = 0
        self._architecture: Architecture | None = None
        self._formula: QWidget | None = None
        self.timer = QTimer(self)
        self.timer.setInterval(STEP_TIME)
        self.timer.timeout.connect(self._on_timeout)
        self._play = flat_button("mapPlay", "", self.tr("Play the walkthrough (Space)"), "play")
        self._play.setCheckable(True)
        self._play.clicked.connect(self.toggle)
        self._back = flat_button("mapStepBack", "", self.tr("Step back (Left)"), "back")
        self._next = flat_button("mapStepOn", "", self.tr("Next step (Right)"), "forward")
        self._back.clicked.connect(lambda: self.step(-1))
        self._next.clicked.connect(lambda: self.step(1))
        self._number, self._name = QLabel(), QLabel()
        self._shapes, self._count, self._note = (ElidedLabel() for _ in range(3))
        self._name.setTextFormat(Qt.TextFormat.PlainText)
        self._name.setFont(weighted(self.font()))
        for label in (self._number, self._note):
            muted(label).setFont(sized(self.font(), NORMAL))
        for label in (self._shapes, self._count):
            label.setFont(monospaced(sized(self.font(), NORMAL)))
        buttons = self._back, self._play, self._next
        upper = hbox(*buttons, self._number, self._name, Gap(8), (self._shapes, 1), spacing=6)
        texts = vbox(self._count, self._note, spacing=2)
        self._lower = hbox((texts, 1))
        # A fixed height, so that the canvas above keeps its size.
        self.setFixedHeight(grown(_HEIGHT))
        vbox(upper, self._lower, parent=self, margins=(0, 2, 0, 2), spacing=2)

    @property
    def stop(self) -> "PlaybackStop | None":
        """The current step."""
        return self.stops[self._index] if self.stops else None

    @property
    def is_playing(self) -> bool:
        """Whether the playback is running."""
        return self.timer.isActive()

    def set_stops(self, stops: "Sequence[PlaybackStop]", architecture: Architecture) -> None:
        """Set the steps; those of another model start with the first one."""
        before = self._architecture
        is_same = before is not None and before.root == architecture.root
        self.stops, self._architecture = tuple(stops), architecture
        self._index = min(self._index, max(len(self.stops) - 1, 0)) if is_same else 0

    def set_step(self, number: int) -> None:
        """Show a step by its number, without a signal."""
        self._index = number - 1
        self._show(self.stops[self._index])

    def arrive(self) -> None:
        """Show the current step, and emit ``arrived``."""
        if self.stop is not None:
            self._show(self.stop)
            self.arrived.emit(self.stop)

    def step(self, steps: int) -> None:
        """Move forwards or backwards."""
        index = min(max(self._index + steps, 0), len(self.stops) - 1)
        if index != self._index:
            self._index = index
            self.arrive()

    def toggle(self) -> None:
        """Start the playback, from the beginning if it is at the end, or stop it."""
        if self.is_playing:
            self.pause()
            return
        if self._index >= len(self.stops) - 1:
            self._index = 0
            self.arrive()
        self.timer.start()
        self._show_playing()

    def pause(self) -> None:
        """Stop the playback."""
        self.timer.stop()
        self._show_playing()

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.setFixedHeight(grown(_HEIGHT))

    def _show_playing(self) -> None:
        self._play.setChecked(self.is_playing)
        put_icon(self._play, "pause" if self.is_playing else "play")

    def _on_timeout(self) -> None:
        if self._index >= len(self.stops) - 1:
            self.pause()
        else:
            self.step(1)

    def _show(self, stop: "PlaybackStop") -> None:
        step, count = stop.step, stop.step.count
        self._number.setText(f"{self._index + 1} / {len(self.stops)}")
        self._name.setText(step.name)
        shapes = [shape for shape in (step.input_shape, step.output_shape) if shape is not None]
        symbols = " → ".join(dict.fromkeys(readable(shape.text) for shape in shapes))
        numbers = " → ".join(dict.fromkeys(shape.numbers for shape in shapes))
        self._shapes.setText("  =  ".join(dict.fromkeys(t for t in (symbols, numbers) if t)))
        terms = [readable(text) for text in (count.symbols, count.numbers) if text]
        if count.parameters:
            terms.append(f"{count.parameters:,}")
        counted = " = ".join(dict.fromkeys(terms))
        self._count.setText(counted or step.values or self.tr("no parameters"))
        self._note.setText(" · ".join(text for text in (stop.title, step.note) if text))
        for label in (self._shapes, self._count, self._note):
            label.setToolTip("")
        texts = (step.name, self._shapes.text(), self._count.text(), step.note)
        self.setAccessibleName(self.tr("Step {0}").format(self._number.text()))
        self.setAccessibleDescription(", ".join(text for text in texts if text))
        self._back.setEnabled(self._index > 0)
        self._next.setEnabled(self._index < len(self.stops) - 1)
        self._show_formula(stop)

    def _show_formula(self, stop: "PlaybackStop") -> None:
        """Show the last line of the formula of the step's module."""
        if self._formula is not None:
            self._formula.hide()
            self._formula.deleteLater()
            self._formula = None
        architecture, path = self._architecture, stop.step.path
        if architecture is None or path is None or stop.step.is_layers:
            return
        module = next((node for node in architecture.modules if node.path == path), None)
        if module is None:
            return
        from bertviewer.core.formulas.catalogue import formula_of

        formula = formula_of(module, architecture)
        if formula is None or not formula.maths:
            return
        from bertviewer.ui.widgets.formula_view import FormulaView  # imports Typst

        result = replace(formula, maths=formula.maths[-1:], terms=(), notes=())
        self._formula = named(FormulaView(result, is_small=True), "mapWalkFormula")
        self._formula.setMaximumHeight(grown(_MAX_FORMULA_HEIGHT))
        self._lower.addWidget(self._formula)


class Walkthrough(QObject):
    """Moves the canvas with the steps.

    ``selected`` has the module of each step; ``toggled`` is emitted when a walkthrough starts or
    ends.
    """

    selected = Signal(str)
    toggled = Signal(bool)

    def __init__(self, canvas: FlowCanvas, parent: QObject) -> None:
        super().__init__(parent)
        self.player = StepPlayer()
        self.player.hide()
        self._canvas = canvas
        self._graphs: PartGraphs | None = None
        self._run: ActivationRun | None = None
        self._is_built = False
        self._path = ""  # selected since the last step
        canvas.stepped.connect(self._on_stepped)
        canvas.play_wanted.connect(self._on_play)
        canvas.walk_wanted.connect(lambda: self.walk(not self.is_active))
        canvas.picked.connect(lambda _hit: self.player.pause())
        self.player.arrived.connect(self._on_arrived)

    @property
    def is_active(self) -> bool:
        """Whether the arrow keys move from step to step."""
        return self._canvas.is_walking

    def set_model(self, graphs: PartGraphs, run: ActivationRun | None) -> None:
        """Set the model and the run whose shapes are shown."""
        if graphs is self._graphs and run is self._run:
            return
        self._graphs, self._run, self._is_built = graphs, run, False
        if self.is_active:
            self._build()
            self.player.arrive()

    def walk(self, is_wanted: bool) -> None:
        """Start at the selected module, or end."""
        if is_wanted and (self._graphs is None or not self._build()):
            return
        self._canvas.is_walking = is_wanted
        self.player.setVisible(is_wanted)
        if is_wanted:
            self._go_to_selection()
            self.player.arrive()
        else:
            self.player.pause()
        self.toggled.emit(is_wanted)

    def follow(self, path: str) -> None:
        """Go to the step of a selected module, now or when a walkthrough starts."""
        self._path = path
        if self.is_active:
            self._go_to_selection()

    def keys(self, scope: Scope, path: str) -> tuple[str, ...] | None:
        """Return the nodes of the current step, ``None`` if something else is shown."""
        stop = self.player.stop
        if not self.is_active or stop is None or stop.part != scope:
            return None
        return stop.keys if stop.step.path in (None, path) else None

    def _go_to_selection(self) -> None:
        stop, graphs = self.player.stop, self._graphs
        if graphs is None or stop is None or stop.step.path == self._path:
            return
        from bertviewer.core.walkthrough.walkthrough import find_step

        steps = [each.step for each in self.player.stops]
        step = find_step(steps, graphs.architecture, self._path)
        if step is not None:
            self.player.pause()
            self.player.set_step(step.number)

    def _build(self) -> bool:
        """Find the steps, once for each model and run; return whether there are any."""
        assert self._graphs is not None
        if not self._is_built:
            from bertviewer.charts.map.playback import playback_stops
            from bertviewer.core.walkthrough.build import build_walkthrough

            self._is_built = True
            architecture = self._graphs.architecture
            walkthrough = build_walkthrough(architecture, self._run)
            self.player.set_stops(playback_stops(walkthrough, self._graphs), architecture)
        return bool(self.player.stops)

    def _on_stepped(self, steps: int) -> None:
        self.player.pause()
        self.player.step(steps)

    def _on_play(self) -> None:
        if not self.is_active:
            self.walk(True)
        if self.is_active:
            self.player.toggle()

    def _on_arrived(self, stop: "PlaybackStop") -> None:
        self._path = ""
        if stop.part != self._canvas.scope:
            self._canvas.open(stop.part)
        if stop.step.path is not None:
            self.selected.emit(stop.step.path)
        self._canvas.mark(stop.keys, is_new=True)
