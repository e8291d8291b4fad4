"""A card of the demo or of a preset: a picture of its stack, its name and its size."""

from collections.abc import Callable, Iterator

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from bertviewer.charts.theme import GRID
from bertviewer.core.schema.outline import Outline, bundled_outlines
from bertviewer.core.sources.presets import PRESETS
from bertviewer.plots.stack_picture import paint_stack
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.theme.theme_of import theme_of
from bertviewer.ui.welcome.card import Card
from bertviewer.ui.widgets.labels import plain_tooltip

PICTURE_HEIGHT = 11 * GRID
DEMO = "demo"
_DEMO_SAYS = QT_TRANSLATE_NOOP("ModelCard", "all-MiniLM-L6-v2, a pretrained BERT with 6 layers")
_NO_WEIGHTS = QT_TRANSLATE_NOOP(
    "ModelCard", "Configuration without weights; runs with random weights if you select them"
)


class StackPicture(QWidget):
    """Paints the blocks of a model, as wide as there is room."""

    def __init__(self, outline: Outline) -> None:
        super().__init__()
        self._outline = outline
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """Return its height, and a small width; Qt calls it."""
        return QSize(80, PICTURE_HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw it; Qt calls it."""
        painter = QPainter(self)
        paint_stack(self._outline, painter, QRectF(self.rect()), theme_of(self))
        painter.end()


class ModelCard(Card):
    """One model that comes with the program."""

    def __init__(self, name: str, says: str, outline: Outline) -> None:
        count, size = count_line(name, outline), size_text(outline)
        super().__init__(f"model-{name}", name, f"{says}. {count}, {size}")
        lines = [says, f"{outline.class_name}, {outline.parameters:,}"]
        if name != DEMO:
            lines.append(translate("ModelCard", _NO_WEIGHTS))
        self.setToolTip(plain_tooltip("\n".join(lines)))
        self.lines.addWidget(StackPicture(outline))
        self.lines.addSpacing(GRID)
        self.add_text(name, is_title=True)
        self.add_text(count)
        self.add_text(size)


def count_line(name: str, outline: Outline) -> str:
    """Return a count in millions, and what the weights are."""
    millions = f"{outline.parameters / 1e6:,.1f}"
    if name == DEMO:
        return translate("ModelCard", "{0} M · trained").format(millions)
    return translate("ModelCard", "{0} M · no weights").format(millions)


def size_text(outline: Outline) -> str:
    """Return a size, as "12 layers · width 768 · 12 heads"."""
    layers = " + ".join(str(stack.layers) for stack in outline.stacks)
    text = translate("ModelCard", "{0} layers · width {1} · {2} heads")
    if any(stack.stored < stack.layers for stack in outline.stacks):
        text = translate("ModelCard", "1 layer × {0} · width {1} · {2} heads")
    return text.format(layers, outline.width, outline.heads)


def model_cards(open_named: Callable[[str], None], has_demo: bool) -> Iterator[ModelCard]:
    """Yield the cards of the demo, if it is installed, and of the presets."""
    outlines = bundled_outlines()
    models = [(preset.name, preset.description) for preset in PRESETS]
    if has_demo:
        models.insert(0, (DEMO, translate("ModelCard", _DEMO_SAYS)))
    for name, says in models:
        card = ModelCard(name, says, outlines[name])
        card.clicked.connect(lambda _=False, name=name: open_named(name))
        yield card
