"""What is what: a page that helps without a connection."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QWidget,
)

from bertviewer.charts.theme import GRID
from bertviewer.ui.help_pages import pages
from bertviewer.ui.labels import blank_page, heading_label, plain_label
from bertviewer.ui.layouts import in_column, named, scrolled

SIZE = (560, 640)


class WhatIsWhat(QDialog):
    """A page to read, with a heading for each thing."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("whatIsWhat")
        self.setWindowTitle(self.tr("What is what"))
        self.resize(*SIZE)
        page = blank_page()
        lines = in_column(on=page, margins=(4 * GRID, 2 * GRID, 4 * GRID, 4 * GRID), spacing=GRID)
        self._headings = {title: heading_label(title) for title, _ in pages()}
        for title, text in pages():
            lines.addWidget(self._headings[title])
            lines.addWidget(plain_label(text))
        lines.addStretch(1)
        self._area = area = named(scrolled(page), "whatIsWhatPage", says=self.windowTitle())
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        in_column((area, 1), buttons, on=self, margins=None)
        area.setFocus(Qt.FocusReason.PopupFocusReason)  # the arrow keys turn the page

    def scroll_to(self, title: str) -> None:
        """Show the part of that heading at the top."""
        layout = self.layout()
        if (heading := self._headings.get(title)) is not None and layout is not None:
            layout.activate()
            self._area.verticalScrollBar().setValue(heading.y() - 2 * GRID)


def show_what_is_what(window: QWidget, title: str = "") -> None:
    """Open the page next to a window, which stays in use, at the heading ``title`` if given."""
    page = WhatIsWhat(window)
    page.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    page.show()
    page.scroll_to(title)
