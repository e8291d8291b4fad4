"""An axis with one text per position, of which it shows as many as there is room for."""

from collections.abc import Sequence
from itertools import count, pairwise
from math import ceil
from typing import Any

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter

from bertviewer.charts.labels import shortened
from bertviewer.charts.translation import translate
from bertviewer.plots.axis import Axis

GAP = 6
LEFT_OUT = "·"
"""Where a label is that has no room."""
LEAST_DOTTED = 8.0
"""In cells of fewer pixels there is no such sign."""
BEYOND = 160
"""So many pixels may half a label, laid flat, reach beyond the axis."""
LABEL_LENGTH = 10
LEAST_CELL = 22.0
"""In cells of so many pixels a few letters can be read."""
LINE = 1.4
"""Heights of a letter from one number to the next above it, where not all have room."""
MOST = 0.8
"""So many of the labels, if not all, are not cut in cells that are narrower."""
SHORT_LABEL = 3
"""Labels of so few letters, as numbers of layers are, are left out sooner than turned."""


class LabelAxis(Axis):
    """Labels at evenly spaced positions.

    Below a plot they stand upright as soon as one is wider than its cell. Where there is still
    no room for all of them, only every second, third … is shown. They get as much height as those
    that are shown take. Where they repeat what stands elsewhere they are ``is_flat``: they lie,
    cut to a few letters.
    """

    def __init__(self, orientation: str) -> None:
        super().__init__(orientation)
        self.is_flat = False
        self._labels: list[tuple[float, str]] = []
        self._widest, self._usual, self._is_short = 0.0, 0.0, True
        self._upright = False
        self._needed = 0.0
        self._beside: LabelAxis | None = None
        self._spacing = 0  # from one label to the next, where they are evenly spaced numbers
        # The base class drops labels that would overlap or reach beyond the axis when laid flat.
        self.setStyle(hideOverlappingLabels=BEYOND, textFillLimits=[(0, 10.0)])

    def set_labels(
        self, labels: Sequence[str], first: float = 0.5, longest: int = LABEL_LENGTH
    ) -> None:
        """Show a text at ``first``, ``first + 1``, …; those with more letters are cut."""
        texts = [shortened(text, longest) for text in labels]
        metrics = QFontMetricsF(self.font())
        self._labels = [(first + place, text) for place, text in enumerate(texts)]
        widths = sorted(map(metrics.horizontalAdvance, texts)) or [0.0]
        self._widest, self._usual = widths[-1], widths[int(MOST * (len(widths) - 1))]
        self._spacing = _spacing(texts)
        self._is_short = all(len(text) <= SHORT_LABEL for text in texts)
        self._arrange()

    def stand_beside(self, other: "LabelAxis | None") -> None:
        """Be as high as another axis below a plot, if that is higher, and the other way round."""
        self._beside = other
        self._take_height()

    def labels(self) -> tuple[str, ...]:
        """Return the texts, those without room too."""
        return tuple(text for _, text in self._labels)

    def resizeEvent(self, event: Any = None) -> None:
        """Choose again how the labels lie, for the room there is now."""
        super().resizeEvent(event)
        if hasattr(self, "_labels"):
            self._arrange()

    def _arrange(self) -> None:
        if not self._labels:
            self._needed = 0.0
            self.setTicks([[]])
            return
        tall = QFontMetricsF(self.font()).height()
        if self.orientation == "left":
            step = self._step(self.size().height(), tall)
            if step > 1 and self._spacing:
                step = self._step(self.size().height(), LINE * tall)
            self.setTicks([self._chosen(step)])
            self.setStyle(autoExpandTextSpace=False, tickTextWidth=ceil(self._widest))
            return
        width = self.size().width()
        if self.is_flat:
            self._lie(width)
            return
        is_crowded = self._step(width, self._widest + GAP) > 1
        self._upright = is_crowded and not self._is_short
        step = self._step(width, tall if self._upright else self._widest + GAP)
        shown = self._chosen(step)
        self.setTicks([shown])
        self._needed = tall
        if self._upright:
            metrics = QFontMetricsF(self.font())
            self._needed = GAP + max(metrics.horizontalAdvance(text) for _, text in shown)
        self._take_height()
        if self._beside is not None:
            self._beside._take_height()

    def _lie(self, width: float) -> None:
        """Lay labels flat, each cut to its cell, or every second, third … to so many cells."""
        self._upright = False
        metrics = QFontMetricsF(self.font())
        step = self._step(width, min(LEAST_CELL, self._usual + GAP))
        shown = self._chosen(step)
        places = {at for at, _ in shown}
        # A number that is left out follows from those that are shown.
        left_out = [] if self._spacing else [at for at, _ in self._labels if at not in places]
        has_dots = bool(left_out) and width / len(self._labels) >= LEAST_DOTTED
        beside = metrics.horizontalAdvance(LEFT_OUT) if has_dots else 0.0
        room = step * width / len(self._labels) - beside - 2
        cut = Qt.TextElideMode.ElideRight
        ticks = [(at, metrics.elidedText(text, cut, room)) for at, text in shown]
        ticks += [(at, LEFT_OUT) for at in left_out if has_dots]
        self.setTicks([sorted(ticks)])
        hint = translate("plots", "Not all labels fit; point at a cell to see its label")
        self.setToolTip(hint if left_out else "")
        self._needed = metrics.height()
        self._take_height()
        if self._beside is not None:
            self._beside._take_height()

    def _take_height(self) -> None:
        # Depends on the width alone: a height that the plot's own height changed would never rest.
        needed = self._needed if self._beside is None else max(self._needed, self._beside._needed)
        if self._needed and self.style["tickTextHeight"] != int(needed):
            self.setStyle(autoExpandTextSpace=False, tickTextHeight=int(needed))

    def _chosen(self, step: int) -> list[tuple[float, str]]:
        """Return the labels at every so many positions; of numbers the round ones."""
        if step == 1 or self._spacing == 0:
            return self._labels[::step]
        is_led = not self._labels[0][1].isdecimal()  # as by the embeddings
        numbers = self._labels[1:] if is_led else self._labels
        round_step = next(n for n in count(step) if _is_round(n * self._spacing))
        first = -int(numbers[0][1]) // self._spacing % round_step
        shown = numbers[first::round_step]
        # The very first one, where there is room for it, tells where the axis begins.
        if is_led or first >= step or not shown:
            start = self._labels[0][0]
            return self._labels[:1] + [label for label in shown if label[0] >= start + step]
        return shown

    def _step(self, length: float, room: float) -> int:
        """Return at every how many positions a label that takes so much room can stand."""
        return max(1, ceil(room * len(self._labels) / max(1.0, length)))

    def drawPicture(
        self, p: QPainter, axisSpec: Any, tickSpecs: Any, textSpecs: list[tuple[QRectF, Any, str]]
    ) -> None:
        """Draw line and labels; the base class knows only flat ones."""
        if not self._upright:
            super().drawPicture(p, axisSpec, tickSpecs, textSpecs)
            return
        super().drawPicture(p, axisSpec, tickSpecs, [])
        p.setPen(self.textPen())
        metrics = QFontMetricsF(self.font())
        for rect, _, text in textSpecs:
            p.save()
            p.translate(QPointF(rect.center().x(), rect.top()))
            p.rotate(-90)
            width, height = metrics.horizontalAdvance(text) + 1, metrics.height()
            box = QRectF(-width, -height / 2, width, height)
            p.drawText(box, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), text)
            p.restore()


def _spacing(texts: Sequence[str]) -> int:
    """Return how far the numbers are from one another, 0 where there are none, or of any kind.

    Before the first of them something else may stand, as the embeddings before the layers.
    """
    if len(texts) > 2 and not texts[0].isdecimal():
        texts = texts[1:]
    if len(texts) < 2 or not all(text.isdecimal() and text.isascii() for text in texts):
        return 0
    numbers = [int(text) for text in texts]
    spacing, *others = {after - before for before, after in pairwise(numbers)}
    return spacing if not others and spacing > 0 and numbers[0] % spacing == 0 else 0


def _is_round(number: int) -> bool:
    return number in (1, 2, 5) or (number % 10 == 0 and (number < 100 or number % 50 == 0))
