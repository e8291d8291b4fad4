"""What the tensor is that is looked into, and where its values come from."""

from PySide6.QtGui import QPalette

from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.tensors.values import TensorValues
from bertviewer.ui.elided_label import ElidedLabel
from bertviewer.ui.look.appearance import WARNING
from bertviewer.ui.tips import plain_tip

_Role = QPalette.ColorRole


class TensorTitle(ElidedLabel):
    """Name, shape, type and source in a line; the full name and file under the mouse."""

    def show_name(self, name: str) -> None:
        """Show nothing but a name: there are no values."""
        self.setText(name)
        self.setToolTip("")
        self.setForegroundRole(_Role.WindowText)

    def show_values(self, values: TensorValues) -> None:
        """Show what values these are."""
        origin, is_random = values.origin, values.origin.file is None
        short = ".".join(values.name.split(".")[-2:])
        facts = f"{shape_text(values.shape)}  {values.dtype}"
        if origin.file is None:
            # What is random has to be seen first, however narrow the pane is.
            parts = self.tr("RANDOM"), short, facts
            whence = self.tr("drawn at random, and not read from a checkpoint")
        else:
            parts = short, facts, self.tr("from {0}").format(origin.file.name)
            whence = str(origin.file)
        self.setText(" · ".join(parts))
        self.setForegroundRole(WARNING if is_random else _Role.WindowText)
        tip = f"{values.name}\n{whence}"
        if origin.key and origin.key != values.name:
            tip += "\n" + self.tr("stored as {0}").format(origin.key)
        self.setToolTip(plain_tip(tip))
