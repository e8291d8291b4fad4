"""A walk through a model from its inputs on: what each step takes, gives and learns.

Plain data, free of torch. The counts of all steps add up to the model's own.
"""

from collections.abc import Iterable
from typing import Literal

from bertviewer.core.frozen import frozen
from bertviewer.core.walk.naming import SEGMENT_IDS, TOKEN_IDS
from bertviewer.core.walk.terms import Piece

PartKind = Literal["embeddings", "layer", "others", "rest"]


@frozen
class WalkShape:
    """A tensor's shape: ``symbols`` as ``("B", "S", "D")``, ``sizes`` with what is known put in."""

    symbols: tuple[str, ...]
    sizes: tuple[str, ...]

    @property
    def text(self) -> str:
        """The shape in letters: ``[B, S, D]``."""
        return f"[{', '.join(self.symbols)}]"

    @property
    def numbers(self) -> str:
        """The shape in numbers; a letter stays where its value is not known."""
        return f"[{', '.join(self.sizes)}]"


@frozen
class StepCount:
    """What a step holds; nothing at all for an addition.

    Attributes:
        parameters: the elements, a tied tensor counted at its first name.
        trainable: those of them that are learnt.
        symbols: the count in the configuration's symbols, empty where no formula is known.
        numbers: the count with numbers put in, empty where there is nothing to count.
        pieces: the count as data, as far as it is spelled out.
    """

    parameters: int = 0
    trainable: int = 0
    symbols: str = ""
    numbers: str = ""
    pieces: tuple[Piece, ...] = ()


@frozen
class WalkStep:
    """One step.

    Attributes:
        name: what a teacher calls it.
        path: the module to look at, ``None`` for an input or an addition.
        input_shape: what goes in, ``None`` where it is not known.
        output_shape: what comes out.
        count: what it holds.
        note: a line of explanation.
        values: an input's ids in the last run, shortened.
        others: the layers that are like the one before, where the step is all of them.
        number: its place in the walk, from 1 on.
        flow: the module whose flow it was read off, ``None`` for none.
        nodes: the nodes of that flow that it is, by their ids.
    """

    name: str
    path: str | None
    input_shape: WalkShape | None
    output_shape: WalkShape | None
    count: StepCount = StepCount()
    note: str = ""
    values: str = ""
    others: tuple[str, ...] = ()
    number: int = 0
    flow: str | None = None
    nodes: tuple[str, ...] = ()

    @property
    def is_input(self) -> bool:
        """Whether the step is what the model is given, and no computation."""
        return self.name in (TOKEN_IDS, SEGMENT_IDS)


@frozen
class WalkPart:
    """Steps that belong together, and what their modules count by themselves.

    ``times`` is how often the part stands in the model, ``letters`` the same in symbols.
    ``is_planned`` says that the steps stand in the order of execution, additions among them;
    without a flow they are modules in the order of the tree, under their own names.
    """

    kind: PartKind
    title: str
    steps: tuple[WalkStep, ...]
    expected: int
    times: int = 1
    letters: str = ""
    is_planned: bool = True

    @property
    def parameters(self) -> int:
        """The sum of the steps."""
        return sum(step.count.parameters for step in self.steps)

    @property
    def trainable(self) -> int:
        """The sum of what is learnt in the steps."""
        return sum(step.count.trainable for step in self.steps)

    @property
    def reconciles(self) -> bool:
        """Whether the steps add up to their modules."""
        return self.parameters == self.expected


@frozen
class Walk:
    """A whole walk; ``expected`` is the model's own number of elements."""

    parts: tuple[WalkPart, ...]
    expected: int

    @property
    def steps(self) -> tuple[WalkStep, ...]:
        """All steps in their order."""
        return tuple(step for part in self.parts for step in part.steps)

    @property
    def parameters(self) -> int:
        """The sum of all steps."""
        return sum(part.parameters for part in self.parts)

    @property
    def trainable(self) -> int:
        """The sum of what is learnt in all steps."""
        return sum(part.trainable for part in self.parts)

    @property
    def reconciles(self) -> bool:
        """Whether all parts add up to the model, and each to its own modules."""
        return self.parameters == self.expected and all(part.reconciles for part in self.parts)


def shortened(texts: Iterable[object], most: int = 10) -> str:
    """Return ``101 2023 … 102`` for a long list, all of a short one."""
    words = [str(text) for text in texts]
    if len(words) > most:
        words = [*words[: most - 2], "…", words[-1]]
    return " ".join(words)
