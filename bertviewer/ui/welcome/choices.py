"""What there is to open: questions, what was opened last, a place to drop, and presets."""

from collections.abc import Iterator

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import (
    QCheckBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QWidget,
)

from bertviewer.charts.theme import GRID, LARGE, NORMAL, TITLE
from bertviewer.core.sources.presets import demo_folder
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.text import as_sentence
from bertviewer.plots.fonts import sized, weighted
from bertviewer.ui.settings.settings import opens_last, set_opens_last
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.welcome.asking import Asking
from bertviewer.ui.welcome.card import Card, CardGrid
from bertviewer.ui.welcome.drop_place import DropPlace, Opens
from bertviewer.ui.welcome.legend import Legend
from bertviewer.ui.welcome.model_card import model_cards
from bertviewer.ui.welcome.questions import QUESTIONS, Question
from bertviewer.ui.welcome.recent_list import RecentList
from bertviewer.ui.widgets.labels import muted, plain_label, plain_tooltip
from bertviewer.ui.widgets.layouts import STRETCH, hbox, named, vbox


class QuestionCard(Card):
    """A question, the sentence that is run for it, and what is looked at."""

    def __init__(self, question: Question) -> None:
        title, hint = (translate("questions", text) for text in (question.title, question.hint))
        sentence = question.sentence
        texts = " ↔ ".join(f"“{text}”" for text in (sentence.text, sentence.pair) if text)
        super().__init__(question.name, title, f"{hint}. {texts}")
        self.setToolTip(plain_tooltip(texts))
        self.add_text(title, is_title=True)
        self.add_text(hint)
        self.add_text(texts)


def question_cards(asking: Asking, lacking: str) -> Iterator[QuestionCard]:
    """Yield the cards; ``lacking`` is why they cannot be asked, empty if they can."""
    for question in QUESTIONS:
        card = QuestionCard(question)
        card.setEnabled(not lacking)
        if lacking:
            card.setToolTip(plain_tooltip(lacking))
        card.clicked.connect(lambda _=False, question=question: asking.ask(question))
        yield card


WIDEST = 1280
QUESTION_WIDTH, MODEL_WIDTH = 280, 216
ICON = 40
LONGEST = 40
"""Characters of a name on a button."""


class Choices(QScrollArea):
    """Everything on one page, which is scrolled where it has no room.

    ``left`` says that a person wants to go back to the model that is open.
    """

    left = Signal()

    def __init__(
        self, opening: Opens, asking: Asking, icon: QIcon, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("welcomeChoices")
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        lacking = _why_no_demo()
        self._note = _note()
        self._back = QPushButton()
        self._back.setObjectName("backToModel")
        self._back.setToolTip(self.tr("The model that is open stays open"))
        self._back.clicked.connect(self.left)
        self._back.hide()
        self._recent = named(RecentList(opening), "welcomeRecent")
        self._drop = DropPlace(opening)
        opening.dragged.connect(self._drop.set_over)

        page = QWidget()
        page.setMaximumWidth(WIDEST)
        lines = vbox(
            parent=page, margins=(6 * GRID, 6 * GRID, 6 * GRID, 6 * GRID), spacing=2 * GRID
        )
        head = _title(icon)
        head.addWidget(self._back)
        lines.addLayout(head)
        lines.addWidget(self._note)
        lines.addWidget(_heading(self.tr("Ask the demo")))
        if lacking:
            lines.addWidget(_wrapped(lacking))
        lines.addWidget(CardGrid(question_cards(asking, lacking), QUESTION_WIDTH))
        lines.addLayout(self._columns())
        lines.addLayout(_heading_line(_heading(self.tr("Built-in models")), Legend()))
        cards = model_cards(opening.open_named, not lacking)
        lines.addWidget(CardGrid(cards, MODEL_WIDTH))
        lines.addSpacing(2 * GRID)
        lines.addWidget(_opens_last_check())
        lines.addStretch(1)
        room = QWidget()
        hbox(STRETCH, (page, 1000), STRETCH, parent=room)
        self.setWidget(room)

    def show_open(self, name: str) -> None:
        """Offer to go back to the model of that name; an empty one is none."""
        self._back.setText(self.tr("Back to {0}").format(_shortened(name)).replace("&", "&&"))
        self._back.setVisible(bool(name))

    def show_recent(self) -> None:
        """Show what is remembered now."""
        self._recent.show_names()

    def say(self, text: str) -> None:
        """Say something above all else; nothing for an empty text."""
        self._note.setText(as_sentence(text))
        self._note.setVisible(bool(text))

    def _columns(self) -> QHBoxLayout:
        columns = hbox(spacing=4 * GRID)
        recent = _under(self.tr("Recent models"), self._recent)
        self._recent.emptied.connect(recent.hide)
        columns.addWidget(recent, 3)
        columns.addWidget(_under(self.tr("Open a model"), self._drop), 2)
        return columns


def _note() -> QLabel:
    note = named(plain_label(""), "welcomeNote")
    note.setForegroundRole(WARNING)
    note.hide()
    return note


def _opens_last_check() -> QCheckBox:
    check = QCheckBox(translate("Choices", "Reopen last model at startup"))
    check.setObjectName("opensLast")
    check.setToolTip(translate("Choices", "Otherwise, show this page"))
    check.setChecked(opens_last())
    check.toggled.connect(set_opens_last)
    return check


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST else f"…{name[-LONGEST:]}"


def _under(title: str, widget: QWidget) -> QWidget:
    made = QWidget()
    vbox(_heading(title), (widget, 1), parent=made, spacing=2 * GRID)
    return made


def _heading(text: str) -> QLabel:
    label = muted(plain_label(text))
    label.setFont(weighted(sized(label.font(), NORMAL)))
    label.setContentsMargins(0, 3 * GRID, 0, 0)
    return label


def _heading_line(heading: QLabel, beside: QWidget) -> QHBoxLayout:
    return hbox((heading, 1), (beside, Qt.AlignmentFlag.AlignBottom))


def _wrapped(text: str) -> QLabel:
    """Return a quieter text that wraps."""
    label = muted(plain_label(text))
    label.setWordWrap(True)
    return label


def _title(icon: QIcon) -> QHBoxLayout:
    picture = QLabel()
    picture.setPixmap(icon.pixmap(ICON, ICON))
    name = QLabel("bertviewer")
    name.setFont(weighted(sized(name.font(), TITLE)))
    says = muted(
        QLabel(
            translate(
                "Choices", "Open a BERT-family transformer and understand every number in it."
            )
        )
    )
    says.setFont(sized(says.font(), LARGE))
    words = vbox(name, says, spacing=0)
    return hbox(picture, (words, 1), spacing=3 * GRID)


def _why_no_demo() -> str:
    """Return why the demo cannot be opened, empty if it can."""
    try:
        demo_folder()
    except UserError as error:
        return as_sentence(str(error))
    return ""
