"""Shows the count of what is typed, and offers to cut what is too long."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from bertviewer.core.tokenization.sentence import TokenCount
from bertviewer.core.util.numbers import count_text
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.layouts import hbox, named

MOST_NAMED = 20  # unknown words in the tooltip
LONGEST_NAME = 40  # characters of one


class TokenCountView(QWidget):
    """Says "18 of 512 tokens · 1 unknown", calm below the limit and marked above it.

    ``cut_wished`` is emitted by the button that is there when there are too many.
    """

    cut_wished = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._note = self._note_tip = ""
        self._label = named(QLabel(), "tokenCount")
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._cut = named(QPushButton(), "cutButton")
        self._cut.clicked.connect(self.cut_wished)
        hbox(self._label, self._cut, parent=self)
        self.show_count(None)

    def set_ready(self, is_ready: bool) -> None:
        """Let the button be pressed, or not."""
        self._cut.setEnabled(is_ready)

    def set_note(self, text: str, tip: str) -> None:
        """Say this from now on where there is no count, as why there never is one."""
        self._note, self._note_tip = text, tip
        self.show_count(None)

    def show_count(self, count: TokenCount | None) -> None:
        """Show a count, or the note if there is none."""
        self._cut.setVisible(count is not None and count.excess > 0)
        if count is None:
            # The room stays once it was needed, so that nothing jumps.
            self._show(self._note, self._note_tip if self._note else "", WARNING)
            return
        text = self._text(count)
        if count.limit is not None:
            widest = self.tr("{0} of {0} tokens").format(f"{count.limit:,}")
            self._label.setMinimumWidth(self._label.fontMetrics().horizontalAdvance(widest))
            self._cut.setText(self.tr("Truncate"))
            self._cut.setToolTip(
                self.tr(
                    "Run only as many tokens as the model accepts; special tokens at the ends "
                    "are kept."
                )
            )
        role = WARNING if count.excess or count.is_untrained else QPalette.ColorRole.PlaceholderText
        self._show(text, self._tip(count), role)

    def _show(self, text: str, tip: str, role: QPalette.ColorRole) -> None:
        self._label.setText(text)
        self._label.setAccessibleName(text)
        self._label.setForegroundRole(role)
        self._label.setToolTip(plain_tooltip(tip))

    def _text(self, count: TokenCount) -> str:
        parts = [self._tokens(count)]
        if count.excess:
            parts.append(self.tr("{0} too many").format(f"{count.excess:,}"))
        if count.is_untrained:
            parts.append(self.tr("trained on {0}").format(f"{count.trained:,}"))
        if count.unknown:
            parts.append(self.tr("{0} unknown").format(f"{len(count.unknown):,}"))
        return " · ".join(parts)

    def _tokens(self, count: TokenCount) -> str:
        if count.limit is not None:
            return self.tr("{0} of {1} tokens").format(f"{count.tokens:,}", f"{count.limit:,}")
        return count_text(count.tokens, self.tr("1 token"), self.tr("{0} tokens"))

    def _tip(self, count: TokenCount) -> str:
        lines = [self.tr("Special tokens are included.")]
        if count.limit is not None:
            lines = [
                count_text(
                    count.limit,
                    self.tr("The model accepts at most 1 token, including special tokens."),
                    self.tr("The model accepts at most {0} tokens, including special tokens."),
                )
            ]
        if count.is_untrained:
            lines.append(self.tr("The model runs, but was trained on shorter texts."))
        if count.is_one_of_two:
            lines.append(self.tr("Encoder and decoder each read one text; the longer one counts."))
        if count.unknown:
            names = list(dict.fromkeys(map(_shortened, count.unknown)))
            shown = "  ".join(names[:MOST_NAMED]) + (" …" if len(names) > MOST_NAMED else "")
            lines.append(self.tr("Not in the vocabulary: {0}").format(shown))
        return "\n".join(lines)


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…"
