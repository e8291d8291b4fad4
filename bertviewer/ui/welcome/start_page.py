"""Start page: questions, recent models, a drop area, and built-in models."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QColor, QIcon, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QCheckBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QWidget,
)
from typing_extensions import override

from bertviewer.charts.theme import GRID, LARGE, NORMAL, ROUND, TITLE
from bertviewer.core.sources.presets import demo_folder
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.text import as_sentence
from bertviewer.plots.fonts import sized, weighted
from bertviewer.ui.settings.settings import opens_last, set_opens_last
from bertviewer.ui.theme.appearance import WARNING, theme_of
from bertviewer.ui.welcome.cards import PartsLegend, model_cards, question_cards
from bertviewer.ui.welcome.question_runner import ModelOpener, QuestionRunner
from bertviewer.ui.welcome.recent_list import RecentList
from bertviewer.ui.widgets.column_grid import ColumnGrid
from bertviewer.ui.widgets.labels import muted, muted_label, plain_label
from bertviewer.ui.widgets.layouts import STRETCH, Gap, hbox, named, vbox

MAX_WIDTH = 1280
QUESTION_WIDTH, MODEL_WIDTH = 280, 216
ICON = 40
LONGEST_NAME = 40
"""Characters of a name on a button."""


class StartPage(QScrollArea):
    """Everything that can be opened; ``left`` asks for the model that is open already."""

    left = Signal()

    def __init__(self, opener: ModelOpener, runner: QuestionRunner, icon: QIcon) -> None:
        super().__init__()
        self.setObjectName("welcomeChoices")
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        disabled_reason = _why_no_demo()
        self._note = named(plain_label(""), "welcomeNote")
        self._note.setForegroundRole(WARNING)
        self._note.hide()
        tip = self.tr("The model that is open stays open")
        self._back = named(QPushButton(), "backToModel", tooltip=tip)
        self._back.clicked.connect(self.left)
        self._back.hide()
        self._recent = named(RecentList(opener), "welcomeRecent")
        questions = list(question_cards(runner, disabled_reason))
        models = list(model_cards(opener.open_named, not disabled_reason))
        models_head = hbox(
            (_heading(self.tr("Built-in models")), 1),
            (PartsLegend(), Qt.AlignmentFlag.AlignBottom),
        )
        page, margin = QWidget(), 6 * GRID
        page.setMaximumWidth(MAX_WIDTH)
        vbox(
            self._title(icon),
            self._note,
            _heading(self.tr("Ask the demo")),
            *([muted_label(disabled_reason)] if disabled_reason else []),
            _grid(questions, QUESTION_WIDTH),
            self._recent_and_drop_area(opener),
            models_head,
            _grid(models, MODEL_WIDTH),
            Gap(2 * GRID),
            self._opens_last_check(),
            STRETCH,
            parent=page,
            margins=(margin, margin, margin, margin),
            spacing=2 * GRID,
        )
        centered = QWidget()
        hbox(STRETCH, (page, 1000), STRETCH, parent=centered)
        self.setWidget(centered)

    def show_open_model(self, name: str) -> None:
        """Offer to return to the open model, if there is one."""
        short = name if len(name) <= LONGEST_NAME else f"…{name[-LONGEST_NAME:]}"
        self._back.setText(self.tr("Back to {0}").format(short).replace("&", "&&"))
        self._back.setVisible(bool(name))

    def show_recent(self) -> None:
        """Update the recent models."""
        self._recent.show_names()

    def show_note(self, text: str) -> None:
        """Show a note at the top, none for an empty text."""
        self._note.setText(as_sentence(text))
        self._note.setVisible(bool(text))

    def _title(self, icon: QIcon) -> QHBoxLayout:
        picture, name = QLabel(), QLabel("bertviewer")
        picture.setPixmap(icon.pixmap(ICON, ICON))
        name.setFont(weighted(sized(name.font(), TITLE)))
        slogan = self.tr("Open a BERT-family transformer and understand every number in it.")
        summary = muted(QLabel(slogan))
        summary.setFont(sized(summary.font(), LARGE))
        texts = vbox(name, summary, spacing=0)
        title = hbox(picture, (texts, 1), spacing=3 * GRID)
        title.addWidget(self._back)
        return title

    def _recent_and_drop_area(self, opener: ModelOpener) -> QHBoxLayout:
        recent = _section(self.tr("Recent models"), self._recent)
        self._recent.emptied.connect(recent.hide)
        drop_area = _section(self.tr("Open a model"), DropArea(opener))
        return hbox((recent, 3), (drop_area, 2), spacing=4 * GRID)

    def _opens_last_check(self) -> QCheckBox:
        check = QCheckBox(self.tr("Reopen last model at startup"))
        named(check, "opensLast", tooltip=self.tr("Otherwise, show this page"))
        check.setChecked(opens_last())
        check.toggled.connect(set_opens_last)
        return check


class DropArea(QWidget):
    """A dashed frame with buttons; the whole window accepts dropped files."""

    def __init__(self, opener: ModelOpener) -> None:
        super().__init__()
        self.setObjectName("dropPlace")
        self._is_highlighted = False
        text = plain_label(self.tr("Drop a model folder or file here"))
        hint = self.tr("config.json · .safetensors · .bin — no code is executed")
        labels = text, muted(plain_label(hint))
        for label in labels:
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        buttons = hbox(STRETCH, spacing=2 * GRID)
        for name, title, tip, choose in (
            (
                "chooseFolder",
                self.tr("Open folder…"),
                self.tr("Open a model folder (Ctrl+O)"),
                opener.choose_folder,
            ),
            (
                "chooseFile",
                self.tr("Open file…"),
                self.tr("Open a configuration or weights file (Ctrl+Alt+O)"),
                opener.choose_file,
            ),
            (
                "chooseHub",
                self.tr("From Hugging Face…"),
                self.tr("Open a model from the Hugging Face Hub (Ctrl+Shift+O)"),
                opener.choose_hub,
            ),
        ):
            button = named(QPushButton(title), name, tooltip=tip)
            button.setAccessibleDescription(tip)
            button.clicked.connect(lambda _=False, choose=choose: choose())
            buttons.addWidget(button)
        buttons.addStretch(1)
        margin = 4 * GRID
        parts = STRETCH, *labels, Gap(GRID), buttons, STRETCH
        margins = margin, margin, margin, margin
        vbox(*parts, parent=self, margins=margins, spacing=2 * GRID)
        opener.dragged.connect(self._highlight)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        theme = theme_of(self)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pen = QPen(QColor(theme.accent if self._is_highlighted else theme.faint), 1.25)
        pen.setDashPattern([4, 3])
        painter.setPen(pen)
        painter.setBrush(QColor(theme.selection if self._is_highlighted else theme.background))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), ROUND, ROUND)
        painter.end()

    def _highlight(self, is_dragged: bool) -> None:
        self._is_highlighted = is_dragged
        self.update()


def _grid(cards: Sequence[QWidget], min_width: int) -> ColumnGrid:
    gap = 3 * GRID
    return ColumnGrid(cards, lambda: min_width, max_columns=len(cards), gaps=(gap, gap))


def _section(title: str, widget: QWidget) -> QWidget:
    section = QWidget()
    vbox(_heading(title), (widget, 1), parent=section, spacing=2 * GRID)
    return section


def _heading(text: str) -> QLabel:
    label = muted(plain_label(text))
    label.setFont(weighted(sized(label.font(), NORMAL)))
    label.setContentsMargins(0, 3 * GRID, 0, 0)
    return label


def _why_no_demo() -> str:
    """Return why the demo can't be opened, "" if it can."""
    try:
        demo_folder()
    except UserError as error:
        return as_sentence(str(error))
    return ""
