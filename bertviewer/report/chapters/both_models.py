"""Section on a sentence in two models: predictions, or else token vectors and attention."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from bertviewer.charts.classification import best_line
from bertviewer.charts.labels import visible
from bertviewer.core.analysis.predictions import (
    Candidate,
    ClassScores,
    Predictions,
    classification,
    predicted_positions,
    predicts_next,
)
from bertviewer.core.analysis.similarity import Cosines, cosines
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.util.numbers import count_text, with_minus
from bertviewer.core.util.text import isolated, listed
from bertviewer.report.blocks import Block, Column, Paragraph, Row, Section, See, Table
from bertviewer.report.chapters.attention import head_name
from bertviewer.report.run_details import OtherModelDetails
from bertviewer.report.subject import Subject
from bertviewer.report.tables import cosine_text
from bertviewer.report.words import likelihood, quoted_token

_CLASSES, _VECTORS = "table:models-classes", "table:models-vectors"
_MAX_ROWS, _MAX_HEADS = 40, 3
_SIDES = ("left", "right")
_SIDE_COLUMNS = tuple(
    column
    for side in ("Left", "Right")
    for column in (Column(side, share=1), Column("Probability", "decimal"))
)


class _Side(Struct, frozen=True, eq=False):
    """A model's run, and what its head predicts, as far as the other's predicts the same."""

    run: ActivationRun
    scores: ClassScores | None
    predictions: Sequence[Predictions]
    has_head: bool

    @property
    def random_tensors(self) -> tuple[str, ...]:
        """The untrained tensors of its head."""
        if self.scores is not None:
            return self.scores.random_tensors
        return next((each.random_tensors for each in self.predictions), ())


def both_models(subject: Subject) -> Section | None:
    """Return the section; ``None`` unless there is a run in both models."""
    found, comparison = subject.other_model, subject.comparison
    if found is None or comparison is None or subject.run is None:
        return None
    title = "The sentence in both models"
    if found.run is None or found.architecture is None:
        return Section("models-run", title, (Paragraph.of(found.problem),))
    mine = _side(subject.run, subject.architecture, [one for one, _ in found.predictions])
    theirs = _side(found.run, found.architecture, [other for _, other in found.predictions])
    is_left = comparison.left.name == subject.architecture.source.name
    left, right = (mine, theirs) if is_left else (theirs, mine)
    is_same = left.run.tokens == right.run.tokens
    blocks: list[Block] = [Paragraph(tuple(_tokens(left.run, right.run)))]
    blocks += _untrained(left, right)
    place = "After" if predicts_next(subject.architecture) else "At"
    compared = (*_classes(left, right, is_same), *_candidates(left, right, place))
    blocks += compared
    if not compared:
        heads = [name for name, side in zip(_SIDES, (left, right), strict=True) if side.has_head]
        blocks.append(Paragraph.of(_heads(heads)))
        if is_same:
            blocks += _vectors(left.run, right.run)
            blocks += _attention(found)
    return Section("models-run", title, tuple(blocks))


def _side(
    run: ActivationRun, architecture: Architecture, predictions: Sequence[Predictions]
) -> _Side:
    scores = classification(run, architecture)
    has_head = scores is not None or bool(predicted_positions(run, architecture))
    return _Side(run, scores, predictions, has_head)


def _tokens(left: ActivationRun, right: ActivationRun) -> Iterator[str]:
    """Yield how the two models read the sentence."""
    counts = [count_text(len(run.tokens), "1 token", "{0} tokens") for run in (left, right)]
    yield "The sentence of this report was run through both models. "
    if left.tokens == right.tokens:
        yield f"Both read the same {counts[0]}."
    elif [token.text for token in left.tokens] == [token.text for token in right.tokens]:
        yield f"Both split it into the same {counts[0]}, with different ids."
    else:
        yield (
            f"The left model splits it into {counts[0]}, the right one into {counts[1]}, and not "
            "all of them are the same, so vectors and attention cannot be compared token by token."
        )


def _untrained(left: _Side, right: _Side) -> Iterator[Paragraph]:
    for name, side in zip(_SIDES, (left, right), strict=True):
        if side.random_tensors:
            yield Paragraph.of(
                f"The head of the {name} model is not trained: its predictions are meaningless.",
                look="warning",
            )


def _heads(names: Sequence[str]) -> str:
    if not names:
        return "Neither model has a prediction head, so their hidden states are compared instead."
    if len(names) == 1:
        return (
            f"Only the {names[0]} model has a prediction head, so predictions cannot be compared."
        )
    return (
        "The two heads do not predict the same: the classes, the direction or the number of masks "
        "differ, so predictions cannot be compared."
    )


def _classes(left: _Side, right: _Side, is_same: bool) -> Iterator[Block]:
    """Yield the predicted classes, answers or labels of tokens."""
    one, other = left.scores, right.scores
    if one is None or other is None or one.of != other.of:
        return
    if one.of == "tokens":
        if is_same:
            yield from _labels(left.run, one, other)
        return
    lines = [best_line(side.run, scores) for side, scores in ((left, one), (right, other))]
    yield Paragraph.of(f"Left model: {lines[0]}. Right model: {lines[1]}.")
    if one.of == "answer" or one.labels != other.labels or len(one.labels) < 2:
        return
    is_value = one.probabilities is None
    a, b = (
        (each.logits if each.probabilities is None else each.probabilities)[0].tolist()
        for each in (one, other)
    )
    text = cosine_text if is_value else likelihood
    order = sorted(range(len(a)), key=lambda label: -b[label])[:_MAX_ROWS]
    rows = tuple(
        Row.of(
            one.labels[label],
            text(a[label]),
            text(b[label]),
            with_minus(f"{b[label] - a[label]:+.4f}"),
        )
        for label in order
    )
    columns = (
        Column("Class", share=1),
        *(Column(title, "decimal") for title in ("Left", "Right", "Right − Left")),
    )
    what = "Values" if is_value else "Probabilities"
    yield Table(columns, rows, _CLASSES, (f"{what} of the classes in both models.",))


def _labels(run: ActivationRun, one: ClassScores, other: ClassScores) -> Iterator[Block]:
    """Yield the tokens that the two models label differently."""
    pairs = zip(one.tokens, one.best, other.best, strict=True)
    changed = [
        (token, row) for row, (token, a, b) in enumerate(pairs) if one.labels[a] != other.labels[b]
    ]
    every = len(one.tokens)
    if not changed:
        yield Paragraph.of(
            count_text(
                every,
                "Both models give the token the same label.",
                "Both models give each of the {0} tokens the same label.",
            )
        )
        return
    yield Paragraph.of(
        count_text(
            len(changed),
            "1 of {1} tokens gets another label from the right model than from the left one",
            "{0} of {1} tokens get another label from the right model than from the left one",
            f"{every:,}",
        ),
        " (",
        See(_CLASSES),
        ").",
    )
    rows = tuple(
        Row.of(
            quoted_token(run, token),
            *(
                cell
                for scores in (one, other)
                for cell in (scores.labels[scores.best[row]], _probability(scores, row))
            ),
        )
        for token, row in changed[:_MAX_ROWS]
    )
    yield Table(
        (Column("Token", share=1), *_SIDE_COLUMNS),
        rows,
        _CLASSES,
        ("Tokens that the two models label differently.",),
    )


def _probability(scores: ClassScores, row: int) -> str:
    if scores.probabilities is None:
        return "–"
    return likelihood(float(scores.probabilities[row, scores.best[row]]))


def _candidates(left: _Side, right: _Side, place: str) -> Iterator[Block]:
    """Yield the most likely tokens of both models, at the same tokens or after them."""
    for one, other in zip(left.predictions, right.predictions, strict=True):
        tops = [each.guess.top for each in (one, other)]
        if not all(tops):
            continue
        name = f"table:models-predicted-{one.position}"
        where = quoted_token(left.run, one.position)
        yield Paragraph.of(
            f"{place} {where}, {_change(*(top[0] for top in tops))} (", See(name), ")."
        )
        rows = tuple(
            Row.of(
                str(rank),
                *(cell for one in pair for cell in (_text(one), likelihood(one.probability))),
            )
            for rank, pair in enumerate(zip(*tops, strict=False), 1)
        )
        columns = (Column("Rank", "right"), *_SIDE_COLUMNS)
        caption = f"Most likely tokens {place.lower()} {where} in both models."
        yield Table(columns, rows, name, (caption,))


def _change(one: Candidate, other: Candidate) -> str:
    a, b = (likelihood(each.probability) for each in (one, other))
    if one.text == other.text:
        return f"both models predict “{_text(one)}”, with probabilities {a} and {b}"
    return f"the prediction changes from “{_text(one)}” ({a}) to “{_text(other)}” ({b})"


def _text(candidate: Candidate) -> str:
    return isolated(visible(candidate.text))


def _vectors(left: ActivationRun, right: ActivationRun) -> Iterator[Block]:
    """Yield the cosines of each token's vectors in the two models."""
    if not left.hidden_states or not right.hidden_states:
        return
    shown: dict[str, Cosines] = {}
    for name, state in (("Embeddings", 0), ("Last layer", -1)):
        one, other = left.hidden_states[state], right.hidden_states[state]
        if one.shape == other.shape:
            shown[name] = cosines(one, other)
    if not shown:
        yield Paragraph.of("Their hidden states differ in size, so their vectors have no cosine.")
        return
    last = [
        (cosine, n) for n, cosine in enumerate(shown.get("Last layer", ())) if cosine is not None
    ]
    finding = ""
    if len(last) > 1:
        (low, changed), (high, kept) = min(last), max(last)
        most, least = (quoted_token(left, token) for token in (changed, kept))
        finding = (
            f"After the last layer, the vector of {most} differs most between the models, with a "
            f"cosine of {cosine_text(low)}, and that of {least} least, with {cosine_text(high)}. "
        )
    yield Paragraph.of(
        finding,
        See(_VECTORS),
        " gives the cosines of each token’s vectors in the two models. They measure a change only "
        "if one model was trained from the other; the features of models that were trained "
        "separately do not correspond to one another.",
    )
    rows = tuple(
        Row.of(quoted_token(left, n), *(cosine_text(values[n]) for values in shown.values()))
        for n in range(min(len(left.tokens), _MAX_ROWS, *map(len, shown.values())))
    )
    columns = (Column("Token", share=1), *(Column(name, "decimal") for name in shown))
    caption = "Cosines between the vectors of the same token in the two models."
    yield Table(columns, rows, _VECTORS, (caption,))


def _attention(found: OtherModelDetails) -> Iterator[Paragraph]:
    """Yield the heads whose attention differs most."""
    if not found.heads:
        return
    heads = [
        f"{head_name(one.layer, one.head)} ({one.value:.4f})" for one in found.heads[:_MAX_HEADS]
    ]
    yield Paragraph.of(
        "The attention of these heads differs most, by the mean absolute difference of their "
        f"weights: {listed(heads, _MAX_HEADS)}."
    )
