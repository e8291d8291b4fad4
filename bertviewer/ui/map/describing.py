"""Says what is selected to whoever does not see it."""

from PySide6.QtGui import QAccessible, QAccessibleEvent
from PySide6.QtWidgets import QWidget


def describe(widget: QWidget, text: str) -> None:
    """Give a widget another accessible description, and tell of it."""
    said = text.replace("\n", ", ")
    if said != widget.accessibleDescription():
        widget.setAccessibleDescription(said)
        QAccessible.updateAccessibility(
            QAccessibleEvent(widget, QAccessible.Event.DescriptionChanged)
        )
