"""Typography of a Markdown document, which Qt leaves plain."""

from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFragment,
    QTextFrameFormat,
    QTextLength,
    QTextTable,
)

from bertviewer.charts.theme import LARGE, NORMAL, TITLE, Theme
from bertviewer.plots.fonts import grown, monospaced, sized, weighted
from bertviewer.ui.help.guide_sections import anchor_of

COLUMN = 680
"""Width of the text in pixels: about 95 characters."""

_HEADINGS = {1: (22.0, 0, 8), 2: (TITLE, 20, 4), 3: (LARGE, 12, 2)}
"""For each level: size of type, space above and space below, in pixels."""
_CODE = QTextFormat.Property.BlockCodeFence
_Height = QTextBlockFormat.LineHeightTypes
_Border = QTextFrameFormat.BorderStyle


def style_document(document: QTextDocument, font: QFont, theme: Theme) -> None:
    """Style headings, code, lists and tables; headings become anchors for links.

    Args:
        document: as ``setMarkdown`` has just made it.
        font: of plain text.
        theme: its colours.
    """
    document.setIndentWidth(grown(22))
    edit = QTextCursor(document)
    edit.beginEditBlock()  # one layout for all changes
    for first, last in reversed(_code_ranges(document)):
        cursor = QTextCursor(first)
        cursor.setPosition(last.position() + last.length() - 1, QTextCursor.MoveMode.KeepAnchor)
        cursor.insertFrame(_code_frame(theme))
    block = document.begin()
    while block.isValid():
        _style_block(block)
        for fragment in _fragments(block):
            _style_fragment(fragment, block, font, theme)
        block = block.next()
    for frame in document.rootFrame().childFrames():
        if isinstance(frame, QTextTable):
            _style_table(frame, theme)
    edit.endEditBlock()


def _style_block(block: QTextBlock) -> None:
    old, new = block.blockFormat(), QTextBlockFormat()
    new.setLineHeight(140, _Height.ProportionalHeight.value)
    above, below = 0, 10
    if level := old.headingLevel():
        _, above, below = _HEADINGS[level]
    elif _is_code(block):
        below = 0
    elif block.textList():
        below = 3 if block.next().textList() else 10
    elif not block.text():  # Qt has one on either side of a frame
        new.setLineHeight(0, _Height.FixedHeight.value)
        below = 0
    elif any(each.charFormat().isImageFormat() for each in _fragments(block)):
        new.setLineHeight(0, _Height.SingleHeight.value)
    new.setTopMargin(grown(above))
    new.setBottomMargin(grown(below))
    QTextCursor(block).mergeBlockFormat(new)


def _style_fragment(fragment: QTextFragment, block: QTextBlock, font: QFont, theme: Theme) -> None:
    shape = fragment.charFormat()
    if shape.isImageFormat():
        return
    is_bold = shape.fontWeight() > QFont.Weight.Normal.value
    if level := block.blockFormat().headingLevel():
        shape.clearProperty(QTextFormat.Property.FontSizeAdjustment)
        shape.setFont(weighted(sized(font, _HEADINGS[level][0])))
        shape.setAnchor(True)
        shape.setAnchorNames([anchor_of(block.text())])
    elif _is_code(block):
        shape.setFont(sized(monospaced(font), NORMAL))
    elif shape.fontFixedPitch():
        shape.setFont(sized(monospaced(font), NORMAL))
        shape.setBackground(QColor(theme.field))
    else:
        shape.setFont(weighted(font) if is_bold else font)
    if shape.anchorHref():
        shape.setForeground(QColor(theme.accent))
        shape.setFontUnderline(False)
    cursor = QTextCursor(block)
    cursor.setPosition(fragment.position())
    end = fragment.position() + fragment.length()
    cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
    cursor.setCharFormat(shape)


def _style_table(table: QTextTable, theme: Theme) -> None:
    shape = table.format()
    shape.setBorder(0)
    shape.setBorderCollapse(True)
    shape.setCellPadding(grown(5))
    shape.setCellSpacing(0)
    shape.setWidth(QTextLength(QTextLength.Type.PercentageLength, 100))
    shape.setBottomMargin(grown(12))
    table.setFormat(shape)
    flat, head = QTextBlockFormat(), QTextCharFormat()
    flat.setBottomMargin(0)
    head.setForeground(QColor(theme.muted))
    for row in range(table.rows()):
        for column in range(table.columns()):
            cell = table.cellAt(row, column)
            framed = cell.format().toTableCellFormat()
            framed.setBottomBorder(1)
            framed.setBottomBorderStyle(_Border.BorderStyle_Solid)
            framed.setBottomBorderBrush(QBrush(QColor(theme.line)))
            cell.setFormat(framed)
            cursor = cell.firstCursorPosition()
            cursor.mergeBlockFormat(flat)
            if row == 0:
                cursor.setPosition(cell.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
                cursor.mergeCharFormat(head)


def _is_code(block: QTextBlock) -> bool:
    """Return whether a block is inside a code frame; its first line has lost Qt's own mark."""
    frame = QTextCursor(block).currentFrame()
    return frame.parentFrame() is not None and not isinstance(frame, QTextTable)


def _fragments(block: QTextBlock) -> list[QTextFragment]:
    found, each = [], block.begin()
    while not each.atEnd():
        found.append(each.fragment())
        each += 1
    return found


def _code_ranges(document: QTextDocument) -> list[tuple[QTextBlock, QTextBlock]]:
    """Return the first and the last line of each code block."""
    found: list[tuple[QTextBlock, QTextBlock]] = []
    block = document.begin()
    while block.isValid():
        if block.blockFormat().hasProperty(_CODE):
            if found and found[-1][1] == block.previous():
                found[-1] = found[-1][0], block
            else:
                found.append((block, block))
        block = block.next()
    return found


def _code_frame(theme: Theme) -> QTextFrameFormat:
    shape = QTextFrameFormat()
    shape.setBackground(QColor(theme.field))
    shape.setBorder(0)
    shape.setPadding(grown(8))
    shape.setBottomMargin(grown(12))
    return shape
