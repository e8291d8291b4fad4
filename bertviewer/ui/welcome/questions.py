"""Questions of the start page: what each one runs and shows, and how its answer is found.

The functions that find answers run in the worker, and import what they need when they are called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.util.errors import UserError
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate

if TYPE_CHECKING:
    from bertviewer.core.loading.loaded_model import LoadedModel
    from bertviewer.core.replay.recorded_run import RecordedRun
    from bertviewer.core.util.progress import Progress

    Find = Callable[[LoadedModel, RecordedRun, Progress], "Answer"]


class Answer(Struct, frozen=True):
    """A place in the model and its run, and a sentence about it."""

    place: SelectionKey
    text: str


class Question(Struct, frozen=True):
    """A question and how to answer it.

    Attributes:
        name: its object name.
        title: the question.
        hint: what to look at.
        model: the model to open.
        sentence: the sentence to run.
        view: the title of the view that shows the answer.
        find: finds the answer in the run.
        buttons: object names of buttons of the view to check.
        choices: object names of combo boxes of the view, and the data of the entries to choose.
    """

    name: str
    title: str
    hint: str
    model: str
    sentence: Sentence
    view: str
    find: Find
    buttons: tuple[str, ...] = ()
    choices: tuple[tuple[str, str], ...] = ()


def find_previous_token_head(
    model: LoadedModel, recorded: RecordedRun, progress: Progress
) -> Answer:
    """Find the head with the largest mean attention to the previous token."""
    from bertviewer.core.analysis.attention_layers import attention_layers
    from bertviewer.core.analysis.attention_maps import head_measures, ranked_heads
    from bertviewer.core.replay.attention import attention_of

    run, cached = recorded.run, recorded.cached(model)
    measures = {}
    for layer in attention_layers(model.architecture, run):
        maps = attention_of(cached, layer.path, progress, call=layer.call)
        measures[layer] = head_measures(maps, run)
    best, second, *others = ranked_heads(measures, "previous")
    text = translate(
        "questions",
        "Head {0} of {1}: on average, a token pays {2} of its attention to the previous "
        "one. Runner-up of the {3} heads: head {4} of {5} with {6}.",
    )
    first_texts = best.head, best.layer.name, f"{best.value:.1%}"
    second_texts = second.head, second.layer.name, f"{second.value:.1%}"
    return Answer(
        SelectionKey(path=best.layer.path, head=best.head),
        text.format(*first_texts, len(others) + 2, *second_texts),
    )


def find_diverging_state(_model: LoadedModel, recorded: RecordedRun, _progress: Progress) -> Answer:
    """Find the hidden state in which the longest common word of two sentences differs most."""
    from bertviewer.charts.labels import names_of_states
    from bertviewer.core.analysis.similarity import same_words, word_path

    run = recorded.run
    pair = max(same_words(run), key=lambda one: len(one.text))
    path = [(value, state) for state, value in enumerate(word_path(run, pair)) if value is not None]
    minimum, state = min(path)
    token = pair.first.tokens[0]
    text = translate(
        "questions",
        "The two vectors of “{0}” differ most after {1}: cosine {2}, compared with {3} in "
        "the embeddings and {4} at the end.",
    )
    cosines = f"{minimum:.3f}", f"{path[0][0]:.3f}", f"{path[-1][0]:.3f}"
    return Answer(
        SelectionKey(path=run.state_path(state, token), token=token),
        text.format(pair.text, names_of_states(run)[state], *cosines),
    )


def find_outlier(_model: LoadedModel, recorded: RecordedRun, _progress: Progress) -> Answer:
    """Find the feature that is an outlier in most hidden states."""
    from bertviewer.charts.labels import names_of_states, token_name
    from bertviewer.core.analysis.outliers import outlier_features

    run = recorded.run
    features = outlier_features(run)
    if not features:
        raise UserError("this run has no outlier features")
    feature, largest = features[0], features[0].largest
    text = translate(
        "questions",
        "Feature {0}: {1} standard deviations from the mean after {2}, at {3}. It is an "
        "outlier in {4} of the {5} hidden states.",
    )
    return Answer(
        SelectionKey(
            path=run.state_path(largest.state, largest.token),
            token=largest.token,
            feature=feature.index,
        ),
        text.format(
            feature.index,
            f"{abs(largest.deviation):.1f}",
            names_of_states(run)[largest.state],
            token_name(run, largest.token),
            len(feature.states),
            len(run.hidden_states),
        ),
    )


QUESTIONS = (
    Question(
        "questionPreviousWord",
        QT_TRANSLATE_NOOP("questions", "Which head finds the previous word?"),
        QT_TRANSLATE_NOOP("questions", "Heads ranked by attention to the previous token"),
        "demo",
        Sentence("The bank by the river was closed, so she walked to the other bank."),
        "Attention",
        find_previous_token_head,
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
        find_diverging_state,
        ("sameWord",),
    ),
    Question(
        "questionOutlier",
        QT_TRANSLATE_NOOP("questions", "Which feature is an outlier?"),
        QT_TRANSLATE_NOOP("questions", "One of 384 features stands out in every layer"),
        "demo",
        Sentence("The cat sat on the mat and looked at the old dog by the door."),
        "Layers",
        find_outlier,
    ),
)
