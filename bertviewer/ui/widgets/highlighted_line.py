"""A text laid out on one line, some letters of it otherwise than the rest."""

from collections.abc import Iterable

from PySide6.QtGui import QFont, QTextCharFormat, QTextLayout, QTextOption

Span = tuple[int, int, QTextCharFormat]
"""Where letters begin, how many they are, and how they look."""


def marked_line(
    text: str, font: QFont, spans: Iterable[Span], width: float | None = None
) -> QTextLayout:
    """Return a stranger's text as plain text, in its own direction: on a line as wide as it is.

    With a ``width``, a text that is written from the right on begins at the right of that.
    """
    layout = QTextLayout(text, font)
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.NoWrap)
    layout.setTextOption(option)
    ranges = []
    for start, length, look in spans:
        if length > 0:
            span = QTextLayout.FormatRange()
            span.start, span.length, span.format = start, length, look
            ranges.append(span)
    layout.setFormats(ranges)
    layout.beginLayout()
    line = layout.createLine()
    if width is not None:
        line.setLineWidth(width)
    layout.endLayout()
    return layout
