"""A model's parameter count by component: embeddings, blocks, head; and without pooler and head."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from bertviewer.core.expressions.grouping import Relation, relations, substituted
from bertviewer.core.expressions.symbols import Symbol
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.count_steps import readable
from bertviewer.core.walkthrough.counts import changed, collected, names_in, spaced
from bertviewer.core.walkthrough.walkthrough import Section, Walkthrough

_SQUARE = re.compile(r"([A-Za-z]\w*)\*\*2")


class Component(Struct, frozen=True):
    """One component: its sum tensor by tensor, and the same with like terms together.

    Both are empty where no formula is known.
    """

    title: str
    parameters: int
    spelled: str = ""
    collected: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """The sums for people, the second only if it says more: ``N·(12·D² + 13·D)``."""
        says_more = _SQUARE.sub(r"\1*\1", self.collected) != self.spelled
        sums = (self.spelled, self.collected) if says_more else (self.spelled,)
        return tuple(readable(text) for text in sums if text)

    @property
    def text(self) -> str:
        """The component in one line, ending in its value."""
        return " = ".join((*self.lines, f"{self.parameters:,}"))


class ComponentCounts(Struct, frozen=True):
    """All components; ``relations`` are symbols that are written by others, I as ``4*D``."""

    components: tuple[Component, ...]
    relations: tuple[Relation, ...]
    total: int
    tensors: int

    @property
    def reconciles(self) -> bool:
        """Whether the components add up to the model."""
        return sum(component.parameters for component in self.components) == self.total


def usual_relations(symbols: Sequence[Symbol]) -> tuple[Relation, ...]:
    """Return the usual ways to write symbols: I as ``4*D`` where so, T as its number."""
    segments = [str(symbol.value) for symbol in symbols if symbol.letter == "T"][:1]
    return (*relations(symbols), *(Relation("T", number, f"T = {number}") for number in segments))


def relations_text(declared: Sequence[Relation]) -> str:
    """Return ``I = 4·D, T = 2``, for people."""
    return readable(", ".join(relation.text for relation in declared))


def count_components(
    walkthrough: Walkthrough, architecture: Architecture, declared: Sequence[Relation]
) -> ComponentCounts:
    """Add up the parameters of each component; ``declared`` are symbols to write by others."""
    # Other layers are counted with the one that is shown, and what follows layers is one component.
    sections = [each for each in walkthrough.sections if each.kind not in ("others", "rest")]
    rest = tuple(s for each in walkthrough.sections if each.kind == "rest" for s in each.steps)
    title = "After the blocks" if architecture.source.task == "base" else "Head"
    if {step.name for step in rest if step.count.parameters} == {"Pooler"}:
        title = "Pooler"
    sections.append(Section("rest", title, rest))
    symbols = names_in(" ".join(step.count.symbols for step in walkthrough.steps))
    used = tuple(relation for relation in declared if relation.letter in symbols)
    return ComponentCounts(
        tuple(_component(section, used) for section in sections if section.parameters),
        used,
        architecture.root.parameters,
        architecture.tensor_count,
    )


def _component(section: Section, declared: Sequence[Relation]) -> Component:
    parameters, times = section.times * section.parameters, section.symbols or str(section.times)
    if not any(step.count.symbols for step in section.steps):
        return Component(_title(section), parameters)
    pieces = changed(
        (piece for step in section.steps for piece in step.count.pieces),
        lambda dim: substituted(dim, declared),
    )
    sums = (spaced(pieces), collected(pieces))
    return Component(
        _title(section), parameters, *(s if times == "1" else f"{times}*({s})" for s in sums)
    )


def _title(section: Section) -> str:
    if section.kind != "layer":
        return "Embedding" if section.title == "Embeddings" else section.title
    title = section.title.removeprefix("One ")
    blocks = title.replace("layer", "blocks").capitalize()
    return blocks if title != section.title else f"Blocks like {title[:1].lower()}{title[1:]}"


class Subtotal(Struct, frozen=True):
    """A model's count without the modules at ``paths``; ``on_top`` is that of poolers and heads."""

    parameters: int
    on_top: Mapping[str, int]
    paths: tuple[str, ...]

    @property
    def total(self) -> int:
        """The model's own count."""
        return self.parameters + sum(self.on_top.values())

    @property
    def difference(self) -> str:
        """What is left out: "pooler 1,049,600", "pooler 590,592 and head 1,538"."""
        return " and ".join(f"{what} {count:,}" for what, count in self.on_top.items())


def subtotal(walkthrough: Walkthrough, architecture: Architecture) -> Subtotal | None:
    """Return the count without the steps of poolers and heads, ``None`` if there are none.

    They are modules of these names, and in a model for a task all that follows the modules with
    the layers. A tied weight of a head counts with the embeddings.
    """
    bodies = {n.path.partition(".")[0] for n in architecture.modules if n.name.isdecimal()}
    on_top: Counter[str] = Counter()
    paths: list[str] = []
    for section in walkthrough.sections:
        for step in section.steps if section.kind == "rest" else ():
            names = (step.path or "").split(".")
            is_head = architecture.source.task != "base" and names[0] not in bodies
            is_head |= any(name.endswith("head") for name in names)
            if step.count.parameters and (is_head or "pooler" in names):
                on_top["pooler" if "pooler" in names else "head"] += step.count.parameters
                paths += step.paths
    left = walkthrough.parameters - on_top.total()
    return Subtotal(left, on_top, tuple(paths)) if on_top else None
