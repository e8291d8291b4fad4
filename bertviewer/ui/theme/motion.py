"""Whether things may move in sight, which some people's eyes cannot bear."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QStyle


def has_motion() -> bool:
    """Tell whether the system wants things to move."""
    hint = QApplication.style().styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration)
    return hint > 0 and QApplication.isEffectEnabled(Qt.UIEffect.UI_General)
