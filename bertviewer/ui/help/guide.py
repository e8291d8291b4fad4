"""User guide: contents, search over all chapters, and the page with the text."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QEvent, QSize, Qt, QUrl
from PySide6.QtGui import (
    QColor,
    QImage,
    QKeySequence,
    QPalette,
    QResizeEvent,
    QShortcut,
    QTextDocument,
)
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QTextBrowser,
    QTextEdit,
    QWidget,
)
from typing_extensions import override

from bertviewer.charts.theme import GRID, ROW
from bertviewer.plots.fonts import grown
from bertviewer.ui.help.guide_sections import CONTENTS, Section, guide_folder, guide_sections
from bertviewer.ui.help.styling import COLUMN, style_document
from bertviewer.ui.theme.appearance import theme_of
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.layouts import hbox, named, split, vbox

SIDE, HEIGHT = 240, 760
"""Width of the contents, height of the window, in pixels."""
ADDRESS = Qt.ItemDataRole.UserRole


MARGIN = 32
MARK = 80  # of 255: opacity of the colour behind a word that was searched


class GuideDialog(QDialog):
    """A modeless window."""

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
        # Filling the list must not change the page.
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
            self._page.go(self._page.source())  # without marked words
            self._follow(self._page.source())

    def _next(self) -> None:
        """Go to the next result, after the last one to the first."""
        if self._field.text() and (count := self._list.count()):
            self._list.setCurrentRow((self._list.currentRow() + 1) % count)

    def _show(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            self._page.go(item.data(ADDRESS), self._field.text().split())

    def _follow(self, address: QUrl) -> None:
        """Select the chapter of the page."""
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
    """Show the guide of a window, at an address or where it was left."""
    dialog = window.findChild(GuideDialog)
    if dialog is None:
        dialog = GuideDialog(window)
        address = address or CONTENTS
    if address:
        dialog.go(address)
    dialog.show()
    dialog.raise_()
    dialog.activateWindow()


class GuidePage(QTextBrowser):
    """Shows chapters by file name; links between them and Back work as in a browser."""

    def __init__(self) -> None:
        super().__init__()
        named(self, "guidePage", accessible_name=self.tr("Page of the guide"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setSearchPaths([str(guide_folder())])
        self.setOpenLinks(False)
        self._words: Sequence[str] = ()
        self.anchorClicked.connect(self.go)
        self.sourceChanged.connect(self._on_source)

    def go(self, address: QUrl | str, words: Sequence[str] = ()) -> None:
        """Show a chapter, or a section of it, with these words marked."""
        self._words = words
        self.setSource(QUrl(address), QTextDocument.ResourceType.MarkdownResource)

    @override
    def loadResource(self, kind: int, name: QUrl | str) -> Any:
        # Images are as wide as the text.
        if kind != QTextDocument.ResourceType.ImageResource.value:
            return super().loadResource(kind, name)
        ratio = self.devicePixelRatioF()
        picture = QImage(str(guide_folder() / QUrl(name).path())).scaledToWidth(
            round(grown(COLUMN) * ratio), Qt.TransformationMode.SmoothTransformation
        )
        picture.setDevicePixelRatio(ratio)
        return picture

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._set_margins()

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        is_look = event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange)
        if is_look and not self.source().isEmpty():
            position = self.verticalScrollBar().value()
            self.reload()
            self.verticalScrollBar().setValue(position)

    def _on_source(self, address: QUrl) -> None:
        style_document(self.document(), self.font(), theme_of(self))
        self._set_margins()
        self.scrollToAnchor(address.fragment())
        self._mark()

    def _set_margins(self) -> None:
        root = self.document().rootFrame()
        shape = root.frameFormat()
        shape.setMargin(MARGIN)
        shape.setRightMargin(max(MARGIN, self.viewport().width() - grown(COLUMN) - MARGIN))
        root.setFrameFormat(shape)

    def _mark(self) -> None:
        """Highlight the searched words from top to bottom."""
        marks = []
        color = QColor(self.palette().color(QPalette.ColorRole.Accent))
        color.setAlpha(MARK)
        for word in self._words:
            found = self.document().find(word)
            while not found.isNull():
                mark = QTextEdit.ExtraSelection()
                mark.cursor = found
                mark.format.setBackground(color)
                marks.append(mark)
                found = self.document().find(word, found)
        self.setExtraSelections(marks)
