"""A card of questions and answers over the window, beside the button that asked for it."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from bertviewer.charts.theme import GRID
from bertviewer.core.explain.explanation import Answer
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.questions import Questions
from bertviewer.ui.widgets.card import CardPopup, contains
from bertviewer.ui.widgets.labels import blank_page, muted_label
from bertviewer.ui.widgets.layouts import STRETCH, named, scroll_area, vbox

WIDTH, MOST_HEIGHT = 420, 460  # pixels


class WhyPage(CardPopup):
    """It goes by Escape, which gives the focus back, and by a click elsewhere."""

    def __init__(self, workspace: Workspace, button: QWidget) -> None:
        super().__init__(button.window())
        self._button = button
        self.setObjectName("whyPage")
        self.setAccessibleName(button.accessibleName())
        self._questions = Questions(workspace)
        self._questions.resized.connect(self.fit)
        self._words = named(muted_label(""), "whyWords")
        inside = blank_page()
        self._rows = vbox(
            self._words,
            self._questions,
            STRETCH,
            parent=inside,
            margins=(3 * GRID, 2 * GRID, 3 * GRID, 2 * GRID),
        )
        self._scroll = scroll_area(inside)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        vbox(self._scroll, parent=self, margins=(2, GRID, 2, GRID))

    def open(self) -> None:
        """Come into sight, and say that the answers are looked for."""
        self._questions.show_answers(())
        self._words.setText(self.tr("Analysing this run…"))
        self._words.show()
        window = self._button.window()
        if self.parentWidget() is not window:  # the pane was torn off, or put back
            self.setParent(window)
        self.fit()
        self.show_popup()

    def show_answers(self, answers: tuple[Answer, ...], error: str, *, opened: str = "") -> None:
        """Show what is asked, with the answer ``opened`` or else the first one open."""
        lacking = self.tr("None of the common questions about this view applies to this run.")
        self._words.setText(error or lacking)
        self._words.setVisible(not answers)
        self._questions.show_answers(answers)
        if answers:
            is_asked = any(answer.name == opened for answer in answers)
            self._questions.open(opened if is_asked else answers[0].name)
            self._questions.focus_first()
        self.fit()

    def dismiss(self, *, restores_focus: bool = False) -> None:
        """Go out of sight; the keys may go back to the button."""
        if self.isHidden():
            return
        self.hide_popup()
        if restores_focus:
            self._button.setFocus(Qt.FocusReason.PopupFocusReason)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go by Escape; Qt calls it."""
        if event.key() == Qt.Key.Key_Escape:
            self.dismiss(restores_focus=True)
        else:
            super().keyPressEvent(event)

    def contains_click(self, place: QPoint) -> bool:
        """Tell whether it is on the card, or on the button, which closes it by its own click."""
        return super().contains_click(place) or contains(self._button, place)

    def fit(self) -> None:
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
