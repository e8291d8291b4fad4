"""Run button, with a menu of weights, devices, the baseline and earlier sentences."""

from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup, QColor, QIcon, QPainter, QPen, QPixmap
from PySide6.QtWidgets import QMenu, QPushButton, QWidget
from typing_extensions import override

from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import theme_of
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.layouts import hbox, named

ARROW = 16  # pixels of the icon
MAX_SENTENCES = 10
MAX_LENGTH = 60  # characters of a sentence in the menu


class RunButton(QWidget):
    """Two push buttons: Run, and an arrow that opens the menu.

    Not a ``QToolButton`` with a menu: that has no accent colour as a default button.
    ``device_chosen`` carries the name of a device.
    """

    device_chosen = Signal(str)

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self.run = named(QPushButton(self.tr("Run")), "runButton")
        self.run.setDefault(True)
        self.choices = named(
            QPushButton(),
            "runChoices",
            accessible_name=self.tr("Run options"),
            tooltip=self.tr("Weights, device, baseline, earlier sentences"),
        )
        self._draw_arrow()
        hbox((self.run, 1), self.choices, parent=self, spacing=1)
        self.run.clicked.connect(workspace.run_next)
        self.choices.clicked.connect(self._open_menu)

    def set_ready(self, disabled_reason: str, is_busy: bool) -> None:
        """Enable the buttons, or show why nothing can be run."""
        self.run.setEnabled(not disabled_reason and not is_busy)
        self.run.setToolTip(disabled_reason or self.tr("Run the sentence (Enter)"))
        self.choices.setEnabled(not is_busy)
        # The menu opens where Run is disabled, but looks like it.
        self.choices.setDefault(self.run.isEnabled())
        self._draw_arrow()

    def menu(self) -> QMenu:
        """Return the menu of the current state."""
        workspace, menu = self._workspace, named(QMenu(self), "runMenu")
        menu.setToolTipsVisible(True)
        runs, run_input = workspace.runs, workspace.run_input
        again = named(menu.addAction(self.tr("Run again")), "runAgain")
        again.setEnabled(not run_input.disabled_reason)
        again.triggered.connect(workspace.run_next)
        baseline = named(menu.addAction(self.tr("Set as baseline (A)")), "keepChoice")
        baseline.setEnabled(runs.current is not None and runs.current is not runs.baseline)
        baseline.triggered.connect(runs.keep)
        menu.addSeparator()
        group = QActionGroup(menu)
        for is_random, name, title in (
            (False, "trainedWeights", self.tr("Checkpoint weights")),
            (True, "randomWeights", self.tr("Random weights (seed 0)")),
        ):
            action = _add_choice(menu, group, title, run_input.random_weights is is_random)
            action.setObjectName(name)
            action.setEnabled(run_input.is_trained is not is_random)
            action.triggered.connect(
                lambda _=False, chosen=is_random: run_input.set_random_weights(chosen)
            )
        self._add_devices(menu)
        self._add_sentences(menu)
        return menu

    def _add_devices(self, menu: QMenu) -> None:
        if not self._workspace.devices:
            return
        menu.addSeparator()
        group = QActionGroup(menu)
        for device in self._workspace.devices:
            is_chosen = device.name == self._workspace.device
            action = _add_choice(menu, group, self.tr("On {0}").format(device.title), is_chosen)
            action.setObjectName(f"device-{device.name}")
            action.triggered.connect(
                lambda _=False, name=device.name: self.device_chosen.emit(name)
            )

    def _add_sentences(self, menu: QMenu) -> None:
        """Add earlier sentences, newest first."""
        run_input = self._workspace.run_input
        if not run_input.history.entries:
            return
        menu.addSeparator()
        for sentence in reversed(run_input.history.entries[-MAX_SENTENCES:]):
            text = " / ".join(filter(None, (sentence.text, sentence.pair)))
            short = text if len(text) <= MAX_LENGTH else f"{text[: MAX_LENGTH - 1]}…"
            action = menu.addAction(" ".join(short.replace("&", "&&").split()))
            action.setToolTip(plain_tooltip(text[: 5 * MAX_LENGTH]))
            action.triggered.connect(
                lambda _=False, chosen=sentence: run_input.set_sentence(chosen)
            )

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "choices"):
            self._draw_arrow()

    def _draw_arrow(self) -> None:
        theme = theme_of(self)
        color = theme.on_accent if self.choices.isDefault() else theme.muted
        self.choices.setIcon(_arrow(color, theme.muted))

    def _open_menu(self) -> None:
        menu = self.menu()
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        corner = self.rect().bottomRight()
        corner.setX(corner.x() - menu.sizeHint().width())
        menu.popup(self.mapToGlobal(corner))


def _arrow(color: str, disabled: str) -> QIcon:
    """Return an icon of an arrow that points down."""
    icon = QIcon()
    for mode, name in ((QIcon.Mode.Normal, color), (QIcon.Mode.Disabled, disabled)):
        for scale in (1, 2, 3):
            picture = QPixmap(scale * ARROW, scale * ARROW)
            picture.setDevicePixelRatio(scale)
            picture.fill(Qt.GlobalColor.transparent)
            painter = QPainter(picture)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(name), 1.5))
            painter.drawPolyline([QPointF(4, 6.5), QPointF(8, 10.5), QPointF(12, 6.5)])
            painter.end()
            icon.addPixmap(picture, mode)
    return icon


def _add_choice(menu: QMenu, group: QActionGroup, title: str, is_chosen: bool) -> QAction:
    action = group.addAction(menu.addAction(title))
    action.setCheckable(True)
    action.setChecked(is_chosen)
    return action
