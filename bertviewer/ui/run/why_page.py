"""A card of questions and answers over the window, beside the button that asked for it."""

from PySide6.QtCore import QEvent, QObject, QPoint, QRectF, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QFrame, QWidget

from bertviewer.charts.theme import GRID, ROUND
from bertviewer.core.explanations.explanation import Answer
from bertviewer.ui.labels import blank_page, quiet_label
from bertviewer.ui.layouts import STRETCH, in_column, named, scrolled
from bertviewer.ui.questions import Questions
from bertviewer.ui.workspace import Workspace

WIDTH, MOST_HEIGHT = 420, 460  # pixels


class WhyPage(QFrame):
    """It goes by Escape, which gives the focus back, and by a click elsewhere.

    It is a part of its window and no window of its own: it moves and closes with it.
    """

    def __init__(self, workspace: Workspace, button: QWidget) -> None:
        super().__init__(button.window())
        self._button = button
        self._watched: list[QObject] = []
        self.setObjectName("whyPage")
        self.setAccessibleName(button.accessibleName())
        self._questions = Questions(workspace)
        self._questions.resized.connect(self._fit)
        self._words = named(quiet_label(""), "whyWords")
        inside = blank_page()
        self._rows = in_column(
            self._words,
            self._questions,
            STRETCH,
            on=inside,
            margins=(3 * GRID, 2 * GRID, 3 * GRID, 2 * GRID),
        )
        self._scroll = scrolled(inside)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        in_column(self._scroll, on=self, margins=(2, GRID, 2, GRID))
        self.hide()

    def open(self) -> None:
        """Come into sight, and say that the answers are looked for."""
        self._questions.show_answers(())
        self._words.setText(self.tr("Looking at this run…"))
        self._words.show()
        window = self._button.window()
        if self.parentWidget() is not window:  # the pane was torn off, or put back
            self.setParent(window)
        self._fit()
        self.show()
        self.raise_()
        self._watched = [it for it in (window, window.windowHandle()) if it is not None]
        for watched in self._watched:
            watched.installEventFilter(self)

    def show_answers(self, answers: tuple[Answer, ...], error: str) -> None:
        """Show what is asked, with the first answer open."""
        lacking = self.tr("Nothing that people ask about this view is true of this run.")
        self._words.setText(error or lacking)
        self._words.setVisible(not answers)
        self._questions.show_answers(answers)
        if answers:
            self._questions.open(answers[0].name)
            self._questions.focus_first()
        self._fit()

    def leave(self, *, gives_back: bool = False) -> None:
        """Go out of sight; the keys may go back to the button."""
        if self.isHidden():
            return
        for watched in self._watched:
            watched.removeEventFilter(self)
        self._watched = []
        self.hide()
        if gives_back:
            self._button.setFocus(Qt.FocusReason.PopupFocusReason)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go by Escape; Qt calls it."""
        if event.key() == Qt.Key.Key_Escape:
            self.leave(gives_back=True)
        else:
            super().keyPressEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Go when a person turns to something else; Qt calls it."""
        if event.type() == QEvent.Type.Resize and watched is self._button.window():
            self._fit()
        elif isinstance(event, QMouseEvent) and event.type() == QEvent.Type.MouseButtonPress:
            place = event.globalPosition().toPoint()
            # The button itself closes it by its own click.
            if not any(_holds(widget, place) for widget in (self, self._button)):
                self.leave()
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw a card; Qt calls it."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(self.palette().color(QPalette.ColorRole.Mid))
        painter.setBrush(self.palette().color(QPalette.ColorRole.Base))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), ROUND, ROUND)
        painter.end()

    def _fit(self) -> None:
        """Be as high as what is in it, as far as the window goes, above or below the button."""
        window = self._button.window()
        width = min(WIDTH, window.width() - 2 * GRID)
        self._rows.activate()
        needed = self._rows.heightForWidth(width - 4) + 2 * GRID
        top = self._button.mapTo(window, QPoint(0, 0)).y()
        below = top + self._button.height()
        is_above = top > window.height() - below
        room = top if is_above else window.height() - below
        height = min(needed, MOST_HEIGHT, max(room - 2 * GRID, 1))
        right = self._button.mapTo(window, QPoint(self._button.width(), 0)).x()
        left = max(GRID, min(right, window.width() - GRID) - width)
        self.setGeometry(left, top - height - GRID if is_above else below + GRID, width, height)


def _holds(widget: QWidget, place: QPoint) -> bool:
    return widget.rect().contains(widget.mapFromGlobal(place))
