"""The walk through the model, step by step below the map."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace
from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtWidgets import QLabel, QWidget
from typing_extensions import override

from bertviewer.charts.theme import NORMAL
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.count_steps import readable
from bertviewer.plots.fonts import grown, monospaced, sized, weighted
from bertviewer.ui.theme.icons import put_icon
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.labels import ElidedLabel, muted
from bertviewer.ui.widgets.layouts import Gap, hbox, named, vbox

if TYPE_CHECKING:
    from bertviewer.charts.map.playback import PlaybackStop

PACE = 1800
"""Milliseconds for a step while the walk plays."""

_MOST_MATHS, _HEIGHT = 38, 70


class WalkBar(QWidget):
    """Says what a step takes, gives and holds; ``arrived`` brings the stop that is shown now."""

    arrived = Signal(object)
    played = Signal(bool)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("mapWalkBar")
        self.stops: tuple[PlaybackStop, ...] = ()
        self._place = 0
        self._architecture: Architecture | None = None
        self._maths: QWidget | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(PACE)
        self._timer.timeout.connect(self._on_time)
        self._play = flat_button("mapPlay", "", self.tr("Play the walkthrough (Space)"), "play")
        self._play.setCheckable(True)
        self._play.clicked.connect(self.play)
        self._back = flat_button("mapStepBack", "", self.tr("Step back (Left)"), "back")
        self._on = flat_button("mapStepOn", "", self.tr("Next step (Right)"), "forward")
        self._back.clicked.connect(lambda: self.step(-1))
        self._on.clicked.connect(lambda: self.step(1))
        self._number, self._name = QLabel(), QLabel()
        self._shapes, self._count, self._note = (ElidedLabel() for _ in range(3))
        self._arrange()

    @property
    def stop(self) -> "PlaybackStop | None":
        """The step that is shown."""
        return self.stops[self._place] if self.stops else None

    @property
    def is_playing(self) -> bool:
        """Whether the next step comes by itself."""
        return self._timer.isActive()

    def set_stops(self, stops: "Sequence[PlaybackStop]", architecture: Architecture) -> None:
        """Walk through another model, from its first step on."""
        before = self._architecture
        is_same = before is not None and before.root == architecture.root
        self.stops, self._architecture = tuple(stops), architecture
        self._place = min(self._place, max(len(self.stops) - 1, 0)) if is_same else 0

    def at(self, number: int) -> None:
        """Show another step, by its number; nobody is told."""
        self._place = number - 1
        stop = self.stop
        if stop is not None:
            self._write(stop)

    def go(self) -> None:
        """Show the step that one is at."""
        stop = self.stop
        if stop is not None:
            self._write(stop)
            self.arrived.emit(stop)

    def step(self, steps: int) -> None:
        """Go on by so many steps, or back."""
        place = min(max(self._place + steps, 0), len(self.stops) - 1)
        if place != self._place:
            self._place = place
            self.go()

    def play(self, is_wanted: bool | None = None) -> None:
        """Begin to go on by itself, or stop."""
        wanted = not self.is_playing if is_wanted is None else is_wanted
        if wanted:
            if self._place >= len(self.stops) - 1:
                self._place = 0
                self.go()
            self._timer.start()
        else:
            self._timer.stop()
        self._play.setChecked(wanted)
        put_icon(self._play, "pause" if wanted else "play")
        self.played.emit(wanted)

    def set_pace(self, milliseconds: int) -> None:
        """Take so long for a step while the walk plays."""
        self._timer.setInterval(milliseconds)

    def halt(self) -> None:
        """Stay at the step that is shown."""
        if self.is_playing:
            self.play(False)

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.setFixedHeight(grown(_HEIGHT))

    def _on_time(self) -> None:
        if self._place >= len(self.stops) - 1:
            self.halt()
        else:
            self.step(1)

    def _write(self, stop: "PlaybackStop") -> None:
        step = stop.step
        self._number.setText(f"{self._place + 1} / {len(self.stops)}")
        self._name.setText(step.name)
        shapes = [shape for shape in (step.input_shape, step.output_shape) if shape is not None]
        letters = " → ".join(dict.fromkeys(readable(shape.text) for shape in shapes))
        numbers = " → ".join(dict.fromkeys(shape.numbers for shape in shapes))
        self._shapes.setText("  =  ".join(dict.fromkeys(t for t in (letters, numbers) if t)))
        count = step.count
        terms = [readable(text) for text in (count.symbols, count.numbers) if text]
        if count.parameters:
            terms.append(f"{count.parameters:,}")
        text = " = ".join(dict.fromkeys(terms)) or step.values or self.tr("no parameters")
        self._count.setText(text)
        self._note.setText(" · ".join(text for text in (stop.title, step.note) if text))
        for label in (self._shapes, self._count, self._note):
            label.setToolTip("")
        said = (step.name, self._shapes.text(), self._count.text(), step.note)
        self.setAccessibleName(self.tr("Step {0}").format(self._number.text()))
        self.setAccessibleDescription(", ".join(text for text in said if text))
        self._back.setEnabled(self._place > 0)
        self._on.setEnabled(self._place < len(self.stops) - 1)
        self._show_maths(stop)

    def _show_maths(self, stop: "PlaybackStop") -> None:
        """Show the formula of the step's module: the line that says what it gives."""
        if self._maths is not None:
            self._maths.hide()
            self._maths.deleteLater()
            self._maths = None
        architecture, path = self._architecture, stop.step.path
        module = None
        if architecture is not None and path is not None:
            module = next((node for node in architecture.modules if node.path == path), None)
        if module is None or architecture is None or stop.step.is_layers:
            return
        from bertviewer.core.formulas.catalogue import formula_of

        formula = formula_of(module, architecture)
        if formula is None or not formula.maths:
            return
        from bertviewer.ui.widgets.formula_view import FormulaView  # and with it Typst

        shown = replace(formula, maths=formula.maths[-1:], terms=(), notes=())
        self._maths = named(FormulaView(shown, is_small=True), "mapWalkFormula")
        self._maths.setMaximumHeight(grown(_MOST_MATHS))
        self._line.addWidget(self._maths)

    def _arrange(self) -> None:
        self._name.setTextFormat(Qt.TextFormat.PlainText)
        self._name.setFont(weighted(self.font()))
        self._number.setFont(sized(self.font(), NORMAL))
        for label in (self._shapes, self._count):
            label.setFont(monospaced(sized(self.font(), NORMAL)))
        self._note.setFont(sized(self.font(), NORMAL))
        muted(self._number)
        muted(self._note)
        upper = hbox(
            self._back,
            self._play,
            self._on,
            self._number,
            self._name,
            Gap(8),
            (self._shapes, 1),
            spacing=6,
        )
        words = vbox(self._count, self._note, spacing=2)
        self._line = hbox((words, 1))
        # The picture above stays as large as it is, whatever a step has to say.
        self.setFixedHeight(grown(_HEIGHT))
        vbox(upper, self._line, parent=self, margins=(0, 2, 0, 2), spacing=2)
