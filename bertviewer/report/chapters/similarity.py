"""Chapters on cosine similarity: of the tokens of a run, and of two sentences."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bertviewer.charts.labels import names_of_states
from bertviewer.charts.token_charts import similarity_chart
from bertviewer.core.analysis.sentence_vectors import (
    PooledCosines,
    SentenceComparison,
    UnrelatedCosines,
    pooling_label,
)
from bertviewer.core.analysis.similarity import Vectors, cosine_matrix
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.text import joined
from bertviewer.report.blocks import (
    Block,
    Break,
    Column,
    Muted,
    Paragraph,
    Row,
    Section,
    See,
    Table,
    Text,
)
from bertviewer.report.pictures import ChapterDraft, Picture, Pictures
from bertviewer.report.subject import Subject
from bertviewer.report.tables import cosine_text
from bertviewer.report.words import quoted_token

_COSINES, _MEANS, _SENTENCES = "figure:cosines", "table:cosines", "table:sentence-cosines"
_SIZE = (480, 480)


def similarity(subject: Subject) -> ChapterDraft | None:
    """Return the chapter on tokens; ``None`` without hidden states or with only one token."""
    run = subject.run
    if run is None or not run.hidden_states or len(run.tokens) < 2:
        return None
    names, last = names_of_states(run), len(run.hidden_states) - 1
    states = tuple(_between_tokens(vectors) for vectors in run.hidden_states)
    intro = (
        "The cosine of two tokens’ vectors is 1 if they point in the same direction and 0 if they "
        "are orthogonal. "
    )
    found = next((n for n in range(last, -1, -1) if np.isfinite(states[n]).any()), None)
    if found is None:
        nothing = "It is not defined here: no two tokens have finite vectors other than zero."
        words = (Paragraph.of(intro, nothing),)
        return ChapterDraft(Section("similarity", "Token similarity", words))
    pictures = Pictures()
    blocks: list[Block] = [
        Paragraph.of(
            intro,
            *_extremes(run, states[found], names[found]),
            *((See(_COSINES), " shows all pairs. ") if len(run.tokens) > 2 else ()),
            *_trend(states, names),
        )
    ]
    if len(run.tokens) > 2:
        blocks += _means(states, names) if last else ()
        blocks.append(
            pictures.figure(
                "cosines",
                Picture(similarity_chart(run, found), *_SIZE),
                f"Cosine of each pair of tokens in {names[found]}. {_alike(run, states[found])}",
                "A heat map of tokens by tokens, coloured by cosine.",
                0.6,
            )
        )
    blocks += subject.answers("similarity")
    return ChapterDraft(Section("similarity", "Token similarity", tuple(blocks)), pictures)


def _between_tokens(vectors: Vectors) -> NDArray[np.float64]:
    """Return the cosines [S, S] of distinct tokens; others, and each pair's second, are NaN."""
    cosines = cosine_matrix(vectors)
    cosines[np.tril_indices(len(cosines))] = np.nan
    return cosines


def _extremes(run: ActivationRun, cosines: NDArray[np.float64], name: str) -> Iterator[str]:
    """Yield the most and the least similar tokens of a hidden state."""
    count = int(np.isfinite(cosines).sum())
    high, low = (end(cosines) for end in (np.nanmax, np.nanmin))
    one, other = _pair(run, cosines, high)
    if count == 1:
        yield f"In {name}, {one} and {other} have a cosine of {cosine_text(high)}. "
        return
    yield (
        f"In {name}, the most similar pair of distinct tokens is {one} and {other}, with a cosine "
        f"of {cosine_text(high)}; "
    )
    one, other = _pair(run, cosines, low)
    yield f"the least similar is {one} and {other}, with {cosine_text(low)}. "


def _pair(run: ActivationRun, cosines: NDArray[np.float64], value: float) -> tuple[str, str]:
    first, second = np.argwhere(cosines == value)[0].tolist()
    return quoted_token(run, first), quoted_token(run, second)


def _trend(states: Sequence[NDArray[np.float64]], names: Sequence[str]) -> Iterator[str | See]:
    """Yield how the mean cosine develops over the hidden states."""
    known = [(name, _mean(state)) for name, state in zip(names, states, strict=True)]
    means = [(name, mean) for name, mean in known if mean is not None]
    if len(means) < 2:
        return
    (start, first), (end, last) = means[0], means[-1]
    steps = [after - before for (_, before), (_, after) in pairwise(means)]
    is_steady = all(step > 0 for step in steps) or all(step < 0 for step in steps)
    yield f"The mean over all pairs {'rises' if last > first else 'falls'}"
    yield " in every layer, from " if is_steady and len(steps) > 1 else " from "
    yield f"{cosine_text(first)} ({start}) to {cosine_text(last)} ({end})"
    if not is_steady:
        yield ", but not in every layer"
        ends = {"highest": max(means, key=_value), "lowest": min(means, key=_value)}
        for word, (name, mean) in ends.items():
            if name not in (start, end):
                yield f"; it is {word} in {name} ({cosine_text(mean)})"
    yield from (("; ", See(_MEANS), " lists all layers.") if len(states[0]) > 2 else (".",))


def _value(named: tuple[str, float]) -> float:
    return named[1]


def _mean(cosines: NDArray[np.float64]) -> float | None:
    finite = cosines[np.isfinite(cosines)]
    return float(finite.mean()) if finite.size else None


def _means(states: Sequence[NDArray[np.float64]], names: Sequence[str]) -> Iterator[Table]:
    columns = (
        Column("Hidden state", share=1),
        Column("Mean", "decimal"),
        Column("Minimum", "decimal"),
        Column("Maximum", "decimal"),
    )
    rows = []
    for name, cosines in zip(names, states, strict=True):
        finite = cosines[np.isfinite(cosines)]
        figures = (finite.mean(), finite.min(), finite.max()) if finite.size else (None,) * 3
        rows.append(Row.of(name, *map(cosine_text, figures)))
    yield Table(columns, tuple(rows), _MEANS, ("Cosines of all pairs of distinct tokens.",))


def _alike(run: ActivationRun, cosines: NDArray[np.float64]) -> str:
    """Return which token is most similar to all others, and which least."""
    both = np.where(np.isnan(cosines), cosines.T, cosines)
    means = np.array(
        [row[np.isfinite(row)].mean() if np.isfinite(row).any() else np.nan for row in both]
    )
    high, low = int(np.nanargmax(means)), int(np.nanargmin(means))
    return (
        f"{quoted_token(run, high)} is most similar to the other tokens (mean "
        f"{cosine_text(float(means[high]))}), {quoted_token(run, low)} least "
        f"({cosine_text(float(means[low]))})."
    )


def vectors(subject: Subject) -> ChapterDraft | None:
    """Return the chapter on sentences; ``None`` unless there are two."""
    found = subject.details.sentences
    if found is None:
        return None
    columns = (
        Column("Vector", share=1),
        Column("Cosine", "decimal"),
        Column("Unrelated: mean", "decimal"),
        Column("minimum", "decimal"),
        Column("maximum", "decimal"),
    )
    blocks: list[Block] = [
        Paragraph.of(found.first, Break(), found.second, look="quote"),
        Paragraph.of(*_own(subject), *_finding(found)),
    ]
    if len(found.poolings) > 1:
        rows = tuple(map(_pooling_row, found.poolings))
        caption = "Cosines of the two sentences and of unrelated ones, by pooling."
        blocks.append(Table(columns, rows, _SENTENCES, (caption,)))
    blocks += subject.answers("sentence vectors")
    return ChapterDraft(Section("vectors", "Sentence vectors", tuple(blocks)))


def _own(subject: Subject) -> Iterator[str]:
    """Yield how the sentences become vectors."""
    yield (
        "Each sentence was run alone, and the vectors of its tokens in the last hidden state were "
        "reduced to one vector. "
    )
    own = None if subject.run is None else subject.run.source.sentence_pooling
    if own is not None:
        scaled = ", scaled to length 1, which changes no cosine" if own.is_normalized else ""
        yield (
            "The model’s own files for sentence-transformers specify this pooling: "
            f"{pooling_label(own)}{scaled}. "
        )


def _finding(found: SentenceComparison) -> Iterator[str | See]:
    """Yield whether the two sentences are more similar than unrelated ones."""
    count = len(found.unrelated)
    pairs = f"the {count * (count - 1) // 2} pairs of {count} unrelated sentences"
    known = [one for one in found.poolings if one.last is not None]
    shown = next((one for one in known if one.is_own), known[0] if len(known) == 1 else None)
    if shown is not None:
        yield f"By {'this vector' if shown.is_own else f'the {shown.label}'}, "
        yield f"the cosine of the two sentences is {cosine_text(shown.last)}"
        if shown.last_unrelated is not None:
            high = cosine_text(shown.last_unrelated.high)
            yield (
                f", higher than those of {pairs} (at most {high}): evidence of similarity. "
                if shown.is_above_unrelated
                else f", not higher than those of {pairs} (up to {high}), so it is no evidence of "
                "similarity. "
            )
        else:
            yield ". "
    else:
        above = [one.label for one in known if one.is_above_unrelated]
        yield f"Their cosine is evidence of similarity only if it exceeds those of {pairs}"
        yield f"; here it does by {joined(above)}. " if above else ", which it does not here. "
    if len(found.poolings) > 1:
        yield from (See(_SENTENCES), " compares the poolings.")


def _pooling_row(found: PooledCosines) -> Row:
    unrelated = found.last_unrelated or UnrelatedCosines(*(float("nan"),) * 3)
    figures = (found.last, unrelated.mean, unrelated.low, unrelated.high)
    label: Text = (
        (f"{found.label} ", Muted("(this model’s own)")) if found.is_own else (found.label,)
    )
    return Row.of(label, *map(cosine_text, figures))
