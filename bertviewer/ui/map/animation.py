"""A sight that goes to another one, or is there at once where the system asks for no motion."""

from collections.abc import Callable

from PySide6.QtCore import QEasingCurve, QObject, QVariantAnimation

from bertviewer.ui.theme.motion import has_motion

MILLISECONDS = 220


class Motion(QObject):
    """Calls ``step`` with shares from 0 to 1, and ``finish`` at the end."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._step: Callable[[float], None] = lambda _share: None
        self._finish: Callable[[], None] = lambda: None
        self._animation = QVariantAnimation(self)
        self._animation.setStartValue(0.0)
        self._animation.setEndValue(1.0)
        self._animation.setDuration(MILLISECONDS)
        self._animation.setEasingCurve(QEasingCurve.Type.InOutCubic)
        self._animation.valueChanged.connect(lambda share: self._step(float(share)))
        self._animation.finished.connect(self._on_finished)

    @property
    def is_going_on(self) -> bool:
        """Whether something moves."""
        return self._animation.state() == QVariantAnimation.State.Running

    def start(self, step: Callable[[float], None], finish: Callable[[], None]) -> None:
        """Move; only the end is seen where nothing may move."""
        self.stop()
        self._step, self._finish = step, finish
        if has_motion():
            self._animation.start()
        else:
            finish()

    def _on_finished(self) -> None:
        self._finish()

    def stop(self) -> None:
        """Stay where it is."""
        # A stopped animation does not finish.
        self._finish = lambda: None
        self._animation.stop()
