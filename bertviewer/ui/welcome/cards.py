"""Cards of the start page: clickable as a whole, for questions, built-in and recent models."""

from collections.abc import Callable, Iterator

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QLabel, QSizePolicy, QWidget
from typing_extensions import override

from bertviewer.charts.theme import GRID, NORMAL, ROUND, SMALL, Part, mixed
from bertviewer.core.schema.outline import Outline, bundled_outlines
from bertviewer.core.sources.presets import PRESETS
from bertviewer.plots.fonts import sized, weighted
from bertviewer.plots.stack_picture import STRENGTH, paint_stack
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.theme.appearance import theme_of
from bertviewer.ui.welcome.question_runner import QuestionRunner
from bertviewer.ui.welcome.questions import QUESTIONS
from bertviewer.ui.widgets.labels import ElidedLabel, muted, plain_tooltip
from bertviewer.ui.widgets.layouts import hbox, vbox

PADDING = 3 * GRID
PICTURE_HEIGHT = 11 * GRID
DEMO = "demo"
_DEMO_DESCRIPTION = QT_TRANSLATE_NOOP(
    "ModelCard", "all-MiniLM-L6-v2, a pretrained BERT with 6 layers"
)
_NO_WEIGHTS = QT_TRANSLATE_NOOP(
    "ModelCard", "Configuration without weights; runs with random weights if you select them"
)
_PARTS: tuple[tuple[Part, str], ...] = (
    ("embeddings", QT_TRANSLATE_NOOP("legend", "embeddings")),
    ("attention", QT_TRANSLATE_NOOP("legend", "attention")),
    ("feed-forward", QT_TRANSLATE_NOOP("legend", "feed-forward")),
    ("head", QT_TRANSLATE_NOOP("legend", "head")),
)


class Card(QAbstractButton):
    """A button that contains widgets; its title is also its accessible name."""

    def __init__(self, name: str, title: str, description: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setText(title)
        self.setAccessibleName(title)
        self.setAccessibleDescription(description)
        # The texts are elided, so they don't determine the width.
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        margins = PADDING, PADDING, PADDING, PADDING
        self.lines = vbox(parent=self, margins=margins, spacing=GRID // 2)

    def add_texts(self, title: str, *others: str) -> None:
        """Add lines of text: the title and muted ones."""
        for text in (title, *others):
            self.lines.addWidget(card_text(text, is_title=text is title))

    @override
    def event(self, event: QEvent) -> bool:
        enter = Qt.Key.Key_Return, Qt.Key.Key_Enter
        is_press = isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress
        if is_press and isinstance(event, QKeyEvent) and event.key() in enter:
            self.click()
            return True
        return super().event(event)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        theme = theme_of(self)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        background, edge, width = theme.surface, theme.line, 1.0
        if not self.isEnabled():
            background = theme.background
        elif self.isDown():
            background = theme.selection
        elif self.underMouse():
            background, edge = theme.hover, mixed(theme.text, theme.surface, 0.25)
        if self.hasFocus():
            edge, width = theme.accent, 2.0
        painter.setPen(QPen(QColor(edge), width))
        painter.setBrush(QColor(background))
        inset = width / 2
        box = QRectF(self.rect()).adjusted(inset, inset, -inset, -inset)
        painter.drawRoundedRect(box, ROUND, ROUND)
        painter.end()


def card_text(text: str, *, is_title: bool = False) -> ElidedLabel:
    """Return a line of text that passes clicks on to its card."""
    label = ElidedLabel()
    label.setText(text)
    label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
    if is_title:
        label.setFont(weighted(label.font()))
    else:
        muted(label)
    label.setFont(sized(label.font(), NORMAL))
    return label


def question_cards(runner: QuestionRunner, disabled_reason: str) -> Iterator[Card]:
    """Yield a card for each question; they are disabled if there is a reason."""
    for question in QUESTIONS:
        title, hint = (translate("questions", text) for text in (question.title, question.hint))
        sentence = question.sentence
        texts = " ↔ ".join(f"“{text}”" for text in (sentence.text, sentence.pair) if text)
        card = Card(question.name, title, f"{hint}. {texts}")
        card.add_texts(title, hint, texts)
        card.setToolTip(plain_tooltip(disabled_reason or texts))
        card.setEnabled(not disabled_reason)
        card.clicked.connect(lambda _=False, question=question: runner.ask(question))
        yield card


def model_cards(open_named: Callable[[str], None], has_demo: bool) -> Iterator[Card]:
    """Yield cards of the demo, if it is installed, and of the presets."""
    outlines = bundled_outlines()
    models = [(preset.name, preset.description) for preset in PRESETS]
    if has_demo:
        models.insert(0, (DEMO, translate("ModelCard", _DEMO_DESCRIPTION)))
    for name, description in models:
        outline = outlines[name]
        count, size = count_text(name, outline), size_text(outline)
        card = Card(f"model-{name}", name, f"{description}. {count}, {size}")
        tip = [description, f"{outline.class_name}, {outline.parameters:,}"]
        if name != DEMO:
            tip.append(translate("ModelCard", _NO_WEIGHTS))
        card.setToolTip(plain_tooltip("\n".join(tip)))
        card.lines.addWidget(_StackPicture(outline))
        card.lines.addSpacing(GRID)
        card.add_texts(name, count, size)
        card.clicked.connect(lambda _=False, name=name: open_named(name))
        yield card


def count_text(name: str, outline: Outline) -> str:
    """Return the parameters in millions and whether there are weights."""
    millions = f"{outline.parameters / 1e6:,.1f}"
    if name == DEMO:
        return translate("ModelCard", "{0} M · trained").format(millions)
    return translate("ModelCard", "{0} M · no weights").format(millions)


def size_text(outline: Outline) -> str:
    """Return ``12 layers · width 768 · 12 heads``."""
    layers = " + ".join(str(stack.layers) for stack in outline.stacks)
    text = translate("ModelCard", "{0} layers · width {1} · {2} heads")
    if any(stack.stored < stack.layers for stack in outline.stacks):
        text = translate("ModelCard", "1 layer × {0} · width {1} · {2} heads")
    return text.format(layers, outline.width, outline.heads)


class _StackPicture(QWidget):
    """The blocks of a model, as wide as the card."""

    def __init__(self, outline: Outline) -> None:
        super().__init__()
        self._outline = outline
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @override
    def sizeHint(self) -> QSize:
        return QSize(80, PICTURE_HEIGHT)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_stack(self._outline, painter, QRectF(self.rect()), theme_of(self))
        painter.end()


class PartsLegend(QWidget):
    """The colours of the parts in the pictures, and the meaning of areas."""

    def __init__(self) -> None:
        super().__init__()
        line = hbox(parent=self, spacing=GRID)
        for part, name in _PARTS:
            line.addWidget(_Swatch(part))
            line.addWidget(_legend_text(name))
            line.addSpacing(GRID)
        line.addWidget(_legend_text(QT_TRANSLATE_NOOP("legend", "area = parameters")))


class _Swatch(QWidget):
    def __init__(self, part: Part) -> None:
        super().__init__()
        self._part = part
        self.setFixedSize(QSize(2 * GRID, 2 * GRID))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(theme_of(self).shade(self._part, STRENGTH)))
        painter.end()


def _legend_text(text: str) -> QLabel:
    label = muted(QLabel(translate("legend", text)))
    label.setFont(sized(label.font(), SMALL))
    return label
