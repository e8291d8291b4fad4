"""Questions that the demo answers by itself: what each runs, where it looks, and what finds out."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.util.progress import Progress
from bertviewer.ui.jobs.recorded_run import RecordedRun
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP
from bertviewer.ui.welcome import answers
from bertviewer.ui.welcome.answers import Answer

if TYPE_CHECKING:
    from bertviewer.core.loading.loaded_model import LoadedModel


class Question(Struct, frozen=True):
    """A question, and what it takes to answer it.

    Attributes:
        name: its object name.
        title: the question.
        hint: what is looked at to answer it.
        model: what is opened.
        sentence: what is run.
        view: the title of the view that shows it.
        presses: the object names of buttons in the view that show what is meant.
        chooses: what to choose in lists of the view, by their object names.
        find: finds the answer in the run, in the worker's thread.
    """

    name: str
    title: str
    hint: str
    model: str
    sentence: Sentence
    view: str
    find: "Callable[[LoadedModel, RecordedRun, Progress], Answer]"
    presses: tuple[str, ...] = ()
    chooses: tuple[tuple[str, str], ...] = ()


QUESTIONS = (
    Question(
        "questionPreviousWord",
        QT_TRANSLATE_NOOP("questions", "Which head finds the previous word?"),
        QT_TRANSLATE_NOOP("questions", "Heads ranked by attention to the previous token"),
        "demo",
        Sentence("The bank by the river was closed, so she walked to the other bank."),
        "Attention",
        answers.previous_head,
        ("allLayers",),
        (("headMeasure", "previous"),),
    ),
    Question(
        "questionTwoSenses",
        QT_TRANSLATE_NOOP("questions", "Where do the two senses of “bank” diverge?"),
        QT_TRANSLATE_NOOP("questions", "The same word in two sentences, layer by layer"),
        "demo",
        Sentence("She sat on the bank of the river.", "He took the money to the bank."),
        "Similarity",
        answers.two_senses,
        ("sameWord",),
    ),
    Question(
        "questionOutlier",
        QT_TRANSLATE_NOOP("questions", "Which feature is an outlier?"),
        QT_TRANSLATE_NOOP("questions", "One of 384 features stands out in every layer"),
        "demo",
        Sentence("The cat sat on the mat and looked at the old dog by the door."),
        "Layers",
        answers.outlier,
    ),
)
