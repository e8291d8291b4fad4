"""A model's count by groups, as a teacher adds it up: embedding, blocks, head."""

import re
from collections.abc import Mapping, Sequence
from itertools import chain

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.count_steps import readable
from bertviewer.core.expressions.evaluation import letters_of
from bertviewer.core.expressions.grouping import Relation, relations
from bertviewer.core.expressions.symbols import Symbol
from bertviewer.core.frozen import frozen
from bertviewer.core.walk.terms import collected, has_letters, related, spaced, value_of
from bertviewer.core.walk.walk import Walk, WalkPart, WalkStep

_SQUARE = re.compile(r"([A-Za-z]\w*)\*\*2")


@frozen
class CountGroup:
    """One group.

    Attributes:
        title: what a teacher calls it.
        spelled: the sum as it is read off the tensors; empty where no formula is known.
        collected: the same with like terms together.
        result: what both give, equal to the number of elements in the group.
    """

    title: str
    spelled: str
    collected: str
    result: int

    @property
    def lines(self) -> tuple[str, ...]:
        """The sum for people, and with like terms together where that says more.

        ``N·(4·(D·D+D) + … + 2·D)`` and ``N·(12·D² + 13·D)``; a square alone says no more.
        """
        says_more = _SQUARE.sub(r"\1*\1", self.collected) != self.spelled
        sums = (self.spelled, self.collected) if says_more else (self.spelled,)
        return tuple(readable(text) for text in sums if text)

    @property
    def text(self) -> str:
        """The group in one line, its result last: ``N·(…) = N·(12·D² + 13·D) = 85,054,464``."""
        return " = ".join((*self.lines, f"{self.result:,}"))


@frozen
class CountGroups:
    """All groups; ``relations`` are the letters that are written by others, I as ``4*D``."""

    groups: tuple[CountGroup, ...]
    relations: tuple[Relation, ...]
    total: int
    tensors: int

    @property
    def reconciles(self) -> bool:
        """Whether the groups add up to the model."""
        return sum(group.result for group in self.groups) == self.total


def teacher_relations(symbols: Sequence[Symbol]) -> tuple[Relation, ...]:
    """Return how a teacher writes letters: I as ``4*D`` where it is so, and T as its number."""
    kinds = next((symbol for symbol in symbols if symbol.letter == "T"), None)
    found = relations(symbols)
    if kinds is None:
        return found
    number = str(kinds.value)
    return (*found, Relation(kinds.letter, number, f"{kinds.letter} = {number}"))


def relations_text(declared: Sequence[Relation]) -> str:
    """Return ``I = 4·D, T = 2``, for people."""
    return readable(", ".join(relation.text for relation in declared))


def group_counts(
    walk: Walk, architecture: Architecture, declared: Sequence[Relation]
) -> CountGroups:
    """Add a walk up by groups.

    Args:
        walk: the walk through the model.
        architecture: the model.
        declared: letters to write by others; those that no count holds are left out.
    """
    values = {symbol.letter: symbol.value for symbol in architecture.symbols}
    # The other layers are counted with the one that is opened.
    rest = tuple(step for part in walk.parts if part.kind == "rest" for step in part.steps)
    parts = [part for part in walk.parts if part.kind not in ("others", "rest")]
    parts.append(WalkPart("rest", _title_of_rest(rest, architecture), rest, 0))
    letters = {
        letter
        for step in walk.steps
        for piece in step.count.pieces
        for dims in piece.tensors
        for dim in dims
        for letter in letters_of(dim)
    }
    used = tuple(relation for relation in declared if relation.letter in letters)
    groups = (_group(part, used, values) for part in parts)
    return CountGroups(
        tuple(group for group in groups if group.result),
        used,
        architecture.root.parameters,
        architecture.tensor_count,
    )


def _title_of_rest(steps: Sequence[WalkStep], architecture: Architecture) -> str:
    if {step.name for step in steps if step.count.parameters} == {"Pooler"}:
        return "Pooler"
    return "After the blocks" if architecture.source.task == "base" else "Head"


def _title(part: WalkPart) -> str:
    if part.kind == "layer":
        title = part.title.removeprefix("One ")
        blocks = title.replace("layer", "blocks").capitalize()
        return blocks if title != part.title else f"Blocks like {title[:1].lower()}{title[1:]}"
    return "Embedding" if part.title == "Embeddings" else part.title


def _group(part: WalkPart, declared: Sequence[Relation], values: Mapping[str, int]) -> CountGroup:
    result = part.times * part.parameters
    pieces = tuple(chain.from_iterable(step.count.pieces for step in part.steps))
    written = related(pieces, declared)
    if not has_letters(pieces) or part.times * value_of(written, values) != result:
        return CountGroup(_title(part), "", "", result)
    frame = "{}" if part.times == 1 else f"{part.letters or part.times}*({{}})"
    return CountGroup(
        _title(part), frame.format(spaced(written)), frame.format(collected(written)), result
    )
