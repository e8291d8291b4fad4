"""Whether attention is coloured by the square roots of its weights; remembered."""

from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QCheckBox

from bertviewer.ui.settings import store

SETTING = "rootColors"


class RootColors(QCheckBox):
    """A box to check, of no use as long as there is no attention to colour."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("rootColors")
        self.setText(self.tr("√ colours"))
        self.setAccessibleName(self.tr("Square-root colours"))
        self.setToolTip(
            self.tr(
                "Colours follow the square root of each weight, so that small weights can be told\n"
                "apart: it helps with many tokens, where [CLS] and [SEP] take most of the range.\n"
                "The values that are shown, copied and saved stay the weights themselves."
            )
        )
        self.setEnabled(False)
        self.setChecked(bool(QSettings().value(SETTING, False, type=bool)))
        self.toggled.connect(self._remember)

    def _remember(self, is_wanted: bool) -> None:
        store(SETTING, is_wanted)
