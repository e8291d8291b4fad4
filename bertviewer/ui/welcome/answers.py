"""Finds the answers of the questions, each in a run: in the worker's thread, and never beforehand.

What they need is imported inside them: nothing of it has to be there for the window to come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.util.errors import UserError
from bertviewer.ui.settings.translation import translate

if TYPE_CHECKING:
    from bertviewer.core.loading.loaded_model import LoadedModel
    from bertviewer.core.util.progress import Progress
    from bertviewer.ui.jobs.recorded_run import RecordedRun


class Answer(Struct, frozen=True):
    """What was found out: a place of the model and of its run, and a sentence about it."""

    place: SelectionKey
    text: str


def previous_head(model: LoadedModel, watched: RecordedRun, progress: Progress) -> Answer:
    """Find the head that gives most of its attention to the token before each."""
    from bertviewer.core.analysis.attention_layers import attention_layers
    from bertviewer.core.analysis.attention_maps import head_measures, ranked_heads
    from bertviewer.core.replay.attention import attention_of

    run = watched.run
    figures = {}
    for layer in attention_layers(model.architecture, run):
        maps = attention_of(watched.cached(model), layer.path, progress, call=layer.call)
        figures[layer] = head_measures(maps, run)
    best, *others = ranked_heads(figures, "previous")
    text = translate(
        "questions",
        "Head {0} of {1}: on average, a token pays {2} of its attention to the previous "
        "one. Runner-up of the {3} heads: head {4} of {5} with {6}.",
    )
    second = others[0]
    return Answer(
        SelectionKey(path=best.layer.path, head=best.head),
        text.format(
            best.head,
            best.layer.name,
            f"{best.value:.1%}",
            len(others) + 1,
            second.head,
            second.layer.name,
            f"{second.value:.1%}",
        ),
    )


def two_senses(_model: LoadedModel, watched: RecordedRun, _progress: Progress) -> Answer:
    """Find the hidden state in which the longest word that both sentences have differs most."""
    from bertviewer.charts.labels import names_of_states
    from bertviewer.core.analysis.similarity import same_words, word_path

    run = watched.run
    pair = max(same_words(run), key=lambda one: len(one.text))
    path = [(value, state) for state, value in enumerate(word_path(run, pair)) if value is not None]
    names = names_of_states(run)
    least, state = min(path)
    token = pair.first.tokens[0]
    text = translate(
        "questions",
        "The two vectors of “{0}” differ most after {1}: cosine {2}, compared with {3} in "
        "the embeddings and {4} at the end.",
    )
    shown = f"{least:.3f}", f"{path[0][0]:.3f}", f"{path[-1][0]:.3f}"
    return Answer(
        SelectionKey(path=run.state_path(state, token), token=token),
        text.format(pair.text, names[state], *shown),
    )


def outlier(_model: LoadedModel, watched: RecordedRun, _progress: Progress) -> Answer:
    """Find the feature that is farthest from the rest in most hidden states."""
    from bertviewer.charts.labels import names_of_states, token_name
    from bertviewer.core.analysis.outliers import outlier_features

    run = watched.run
    found = outlier_features(run)
    if not found:
        raise UserError("this run has no outlier features")
    feature = found[0]
    where = feature.largest
    states = len(run.hidden_states)
    text = translate(
        "questions",
        "Feature {0}: {1} standard deviations from the mean after {2}, at {3}. It is an "
        "outlier in {4} of the {5} hidden states.",
    )
    return Answer(
        SelectionKey(
            path=run.state_path(where.state, where.token), token=where.token, feature=feature.index
        ),
        text.format(
            feature.index,
            f"{abs(where.deviation):.1f}",
            names_of_states(run)[where.state],
            token_name(run, where.token),
            len(feature.states),
            states,
        ),
    )
