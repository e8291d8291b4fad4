"""A page of the guide, in the program's type and colours."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QEvent, Qt, QUrl
from PySide6.QtGui import QColor, QImage, QPalette, QResizeEvent, QTextDocument
from PySide6.QtWidgets import QFrame, QTextBrowser, QTextEdit

from bertviewer.plots.fonts import grown
from bertviewer.ui.help.guide_sections import guide_folder
from bertviewer.ui.help.styling import COLUMN, style_document
from bertviewer.ui.theme.theme_of import theme_of
from bertviewer.ui.widgets.layouts import named

MARGIN = 32
MARK = 80  # of 255: opacity of the colour behind a word that was searched


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

    def loadResource(self, kind: int, name: QUrl | str) -> Any:
        """Return a chapter's text, or a picture as wide as the text; Qt calls it."""
        if kind != QTextDocument.ResourceType.ImageResource.value:
            return super().loadResource(kind, name)
        ratio = self.devicePixelRatioF()
        picture = QImage(str(guide_folder() / QUrl(name).path())).scaledToWidth(
            round(grown(COLUMN) * ratio), Qt.TransformationMode.SmoothTransformation
        )
        picture.setDevicePixelRatio(ratio)
        return picture

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the column narrow enough to read; Qt calls it."""
        super().resizeEvent(event)
        self._set_margins()

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of theme or of the text size; Qt calls it."""
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
