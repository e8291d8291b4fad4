"""A list to choose from that gives way where room is short."""

from PySide6.QtWidgets import QComboBox

LEAST = 56
"""Pixels that are left of it however short the room is."""
MOST_VISIBLE = 24


class ChoiceBox(QComboBox):
    """As wide as so many letters, or less, whatever it offers; its list is as wide as it needs."""

    def __init__(self, name: str, purpose: str, letters: int) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(purpose)
        self.setToolTip(purpose)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(letters)
        self.setMinimumWidth(LEAST)
        self.setMaxVisibleItems(MOST_VISIBLE)

    def showPopup(self) -> None:
        """Open the list; Qt calls it."""
        # Paths are long.
        self.view().setMinimumWidth(self.view().sizeHintForColumn(0) + 30)
        super().showPopup()
