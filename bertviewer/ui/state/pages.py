"""Pages of the window that can be brought into view, and what can be shown on them."""

from enum import StrEnum

from msgspec import Struct

from bertviewer.core.schema.activation_run import TensorKey
from bertviewer.core.schema.check import CheckStep
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP


class Page(StrEnum):
    """A page by its untranslated title, which sessions store."""

    MAP = QT_TRANSLATE_NOOP("tabs", "Map")
    FORMULA = QT_TRANSLATE_NOOP("tabs", "Formula")
    TENSORS = QT_TRANSLATE_NOOP("tabs", "Tensors")
    WALK = QT_TRANSLATE_NOOP("tabs", "Walk")
    WHAT_IF = QT_TRANSLATE_NOOP("tabs", "What if")
    CONFIGURATION = QT_TRANSLATE_NOOP("tabs", "Configuration")
    SOURCE = QT_TRANSLATE_NOOP("tabs", "Source")
    LAYERS = QT_TRANSLATE_NOOP("views", "Layers")
    TOKEN = QT_TRANSLATE_NOOP("views", "Token")
    SIMILARITY = QT_TRANSLATE_NOOP("views", "Similarity")
    ATTENTION = QT_TRANSLATE_NOOP("views", "Attention")
    HISTOGRAM = QT_TRANSLATE_NOOP("views", "Histogram")
    PREDICTIONS = QT_TRANSLATE_NOOP("views", "Predictions")
    TOKENS = QT_TRANSLATE_NOOP("views", "Tokens")
    SENTENCE = "Sentence"
    """The sentence vectors, on the page of tokens."""
    MODULE = "Module"
    """The panel of the selected module."""


MODULE_PAGES = (
    *(Page.MAP, Page.FORMULA, Page.TENSORS, Page.WALK, Page.WHAT_IF),
    *(Page.CONFIGURATION, Page.SOURCE),
)
"""Pages in the middle of the window, in order."""

RUN_PAGES = (
    *(Page.LAYERS, Page.TOKEN, Page.SIMILARITY, Page.ATTENTION, Page.HISTOGRAM),
    *(Page.PREDICTIONS, Page.TOKENS),
)
"""Views of a run, in order."""


class Question(Struct, frozen=True):
    """A question about a page, by the name of its answer."""

    name: str


class RecordedValues(Struct, frozen=True):
    """Values of the last run: of a tensor of the selected module, for one token or all, or a check.

    They are shown on the page of tensors.
    """

    values: TensorKey | CheckStep
    token: int | None = None


PageSubject = str | Question | RecordedValues
"""What to show on a page: a question, or by page a tensor's name, a configuration key, a statistic
or recorded values."""
