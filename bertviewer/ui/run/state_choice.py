"""Which hidden state is shown: a slider that follows the selected module."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QSlider, QWidget

from bertviewer.charts.labels import names_of_states
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.ui.widgets.layouts import hbox, named

LONGEST_SLIDER = 160  # pixels


class StateChoice(QWidget):
    """A slider from the embeddings to the last layer, and the name of what it stands at.

    ``chosen`` tells that a person moved it. Before the first choice it stands at the end.
    """

    chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._wish: int | None = None
        self._path: str | None = None  # the module that was followed last
        self._names: tuple[str, ...] = ()
        self._slider = QSlider(Qt.Orientation.Horizontal)
        self._slider.setObjectName("stateChoice")
        self._slider.setAccessibleName(self.tr("Hidden state to show"))
        self._slider.setPageStep(1)
        self._slider.setMinimumWidth(50)
        self._slider.setMaximumWidth(LONGEST_SLIDER)
        self._label = named(QLabel(), "stateName")
        hbox((self._slider, 1), self._label, parent=self, spacing=6)
        self._slider.valueChanged.connect(self._on_moved)

    @property
    def state(self) -> int:
        """The hidden state that is chosen."""
        return self._slider.value()

    def follow(self, run: ActivationRun, path: str | None) -> None:
        """Offer a run's hidden states; go to that of the module at ``path`` if it is a new one."""
        self._names = names_of_states(run)
        last = len(self._names) - 1
        state = last if self._wish is None else min(self._wish, last)
        if path != self._path:
            self._path = path
            if path is not None and not _gives(run, state, path):
                found = run.state_of(path)
                state = state if found is None else min(found, last)
                self._wish = self._wish if found is None else found
        self._slider.blockSignals(True)
        self._slider.setRange(0, max(0, last))
        self._slider.setValue(state)
        self._slider.blockSignals(False)
        # The slider must not move under the mouse when the name changes.
        metrics = self._label.fontMetrics()
        widths = [metrics.horizontalAdvance(name) for name in self._names]
        self._label.setFixedWidth(max(widths, default=0) + 2)
        self._show_name()

    def _on_moved(self, state: int) -> None:
        self._wish = state
        self._show_name()
        self.chosen.emit(state)

    def _show_name(self) -> None:
        self._label.setText(self._names[self.state] if self._names else "")


def _gives(run: ActivationRun, state: int, path: str) -> bool:
    """Return whether the module at ``path`` is, or is in, what gave a state.

    One that is called again and again, as ALBERT's layer, gives many of them.
    """
    givers = run.state_paths[state] if 0 <= state < len(run.state_paths) else ()
    return any(giver and f"{path}.".startswith(f"{giver}.") for giver in givers)
