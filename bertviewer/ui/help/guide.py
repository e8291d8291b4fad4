"""The user guide: its contents, a search over all chapters, and the page that is read."""

from PySide6.QtCore import QSize, Qt, QUrl
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QDialog, QLineEdit, QListWidget, QListWidgetItem, QWidget

from bertviewer.charts.theme import GRID, ROW
from bertviewer.plots.fonts import grown
from bertviewer.ui.help.guide_sections import CONTENTS, Section, guide_sections
from bertviewer.ui.help.page import MARGIN, GuidePage
from bertviewer.ui.help.styling import COLUMN
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.layouts import hbox, named, split, vbox

SIDE, HEIGHT = 240, 760
"""Width of the contents, height of the window, in pixels."""
ADDRESS = Qt.ItemDataRole.UserRole


class GuideDialog(QDialog):
    """A window next to the main one, which stays in use."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("guide")
        self.setWindowTitle(self.tr("User guide"))
        self.setWindowFlag(Qt.WindowType.Window)
        self.resize(SIDE + grown(COLUMN) + 2 * MARGIN + 4 * GRID, HEIGHT)
        self._field = named(QLineEdit(), "guideSearch", accessible_name=self.tr("Search the guide"))
        self._field.setPlaceholderText(self.tr("Search the guide"))
        self._field.setClearButtonEnabled(True)
        self._list = named(QListWidget(), "guideContents", accessible_name=self.tr("Contents"))
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._list.viewport().setAutoFillBackground(False)
        self._page = GuidePage()
        back = flat_button("guideBack", "", self.tr("Back (Alt+Left)"), "back")
        forward = flat_button("guideForward", "", self.tr("Forward (Alt+Right)"), "forward")
        for button, keys, action, available in (
            (back, "Alt+Left", self._page.backward, self._page.backwardAvailable),
            (forward, "Alt+Right", self._page.forward, self._page.forwardAvailable),
        ):
            button.setShortcut(keys)
            button.setEnabled(False)
            button.clicked.connect(action)
            available.connect(button.setEnabled)
        side = QWidget()
        line = hbox(back, forward, (self._field, 1), spacing=2)
        vbox(line, (self._list, 1), parent=side, margins=(2 * GRID,) * 4, spacing=2 * GRID)
        vbox(split(side, self._page, sizes=(SIDE, self.width() - SIDE)), parent=self)
        self._field.textChanged.connect(self._search)
        self._field.returnPressed.connect(self._next)
        self._list.currentItemChanged.connect(self._show)
        self._page.sourceChanged.connect(self._follow)
        QShortcut(QKeySequence.StandardKey.Find, self, self._focus_search)
        self._search("")

    def go(self, address: str) -> None:
        """Show a chapter by its file name, or a section of it: ``map.md#zoom``."""
        self._field.clear()
        self._page.go(address)
        self._focus_search()

    def _search(self, text: str) -> None:
        """List the chapters, or the sections that have all words."""
        words = text.casefold().split()
        sections = sorted(
            (each for each in guide_sections() if _fits(each, words)),
            key=lambda each: bool(words) and not _fits_title(each, words),
        )
        # While the list is filled no row of it is gone to.
        self._list.blockSignals(True)
        self._list.clear()
        for section in sections:
            is_chapter = "#" not in section.address
            if words or is_chapter:
                name = section.title if is_chapter else f"{section.title} – {section.chapter}"
                item = QListWidgetItem(name)
                item.setToolTip(name)
                item.setData(ADDRESS, section.address)
                item.setSizeHint(QSize(0, grown(ROW)))
                self._list.addItem(item)
        if words and not sections:
            nothing = QListWidgetItem(self.tr("No results"))
            nothing.setFlags(Qt.ItemFlag.NoItemFlags)
            self._list.addItem(nothing)
        self._list.blockSignals(False)
        if words and sections:
            self._list.setCurrentRow(0)
        else:
            self._page.go(self._page.source())  # words are no longer marked
            self._follow(self._page.source())

    def _next(self) -> None:
        """Go to the next hit, and from the last to the first."""
        if self._field.text() and (count := self._list.count()):
            self._list.setCurrentRow((self._list.currentRow() + 1) % count)

    def _show(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            self._page.go(item.data(ADDRESS), self._field.text().split())

    def _follow(self, address: QUrl) -> None:
        """Select the chapter that a link has led to."""
        if self._field.text():
            return
        self._list.blockSignals(True)
        for row in range(self._list.count()):
            if self._list.item(row).data(ADDRESS) == address.path():
                self._list.setCurrentRow(row)
        self._list.blockSignals(False)

    def _focus_search(self) -> None:
        self._field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._field.selectAll()


def _fits_title(section: Section, words: list[str]) -> bool:
    return all(word in section.title.casefold() for word in words)


def _fits(section: Section, words: list[str]) -> bool:
    if words and section.address.startswith(CONTENTS):
        return False  # it only names the chapters
    text = f"{section.chapter} {section.title} {section.text}".casefold()
    return all(word in text for word in words)


def show_guide(window: QWidget, address: str = "") -> None:
    """Show the guide next to a window, at this address or where it was left."""
    dialog = window.findChild(GuideDialog)
    if dialog is None:
        dialog = GuideDialog(window)
        address = address or CONTENTS
    if address:
        dialog.go(address)
    dialog.show()
    dialog.raise_()
    dialog.activateWindow()
