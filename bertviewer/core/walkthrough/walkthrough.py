"""A model's walkthrough: its steps in execution order, each with shapes and a parameter count.

Plain data, free of torch. The counts of all steps add up to the model's own.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from itertools import chain, takewhile
from typing import Literal

from msgspec import Struct

from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Flows

TOKEN_IDS, SEGMENT_IDS = "Token IDs", "Segment IDs"
SectionKind = Literal["embeddings", "layer", "others", "rest"]


class Piece(Struct, frozen=True):
    """``times`` equal modules, each with the dimensions of its tensors: symbols or numbers."""

    times: int
    tensors: tuple[tuple[str, ...], ...]


class StepCount(Struct, frozen=True):
    """The parameters of a step; all zero and empty for an addition.

    Attributes:
        parameters: the number of elements; a tied tensor counts at the first step that reads it.
        trainable: the number of trainable ones.
        symbols: the count in the configuration's symbols, "" without a formula.
        numbers: the count in numbers, "" if nothing is counted.
        pieces: the count as data, empty if it is not spelled out.
    """

    parameters: int = 0
    trainable: int = 0
    symbols: str = ""
    numbers: str = ""
    pieces: tuple[Piece, ...] = ()


class StepShape(Struct, frozen=True):
    """A tensor's shape in symbols, ``[B, S, D]``, and in numbers as far as known."""

    text: str
    numbers: str


class Step(Struct, frozen=True):
    """One step.

    Attributes:
        name: its usual name.
        paths: the modules that hold exactly the parameters of the step.
        module: the module that computes it, ``None`` for an input or an addition.
        input_shape: the shape of its input, ``None`` if unknown.
        output_shape: the shape of its output.
        count: its parameters.
        note: one line of explanation.
        values: the ids of an input in the last run, shortened.
        is_layers: whether the step represents the whole layers at ``paths``.
        number: its number in the walkthrough, from 1.
        reads: the parameters that it reads.
        flow: the module whose graph has the ``nodes``, ``None`` without nodes.
        nodes: the ids of the step's nodes.
        inner: the steps inside an attention or a feed-forward network, with the same parameters;
            they have no numbers and no further steps.
    """

    name: str
    paths: tuple[str, ...] = ()
    module: str | None = None
    input_shape: StepShape | None = None
    output_shape: StepShape | None = None
    count: StepCount = StepCount()
    note: str = ""
    values: str = ""
    is_layers: bool = False
    number: int = 0
    reads: tuple[str, ...] = ()
    flow: str | None = None
    nodes: tuple[str, ...] = ()
    inner: tuple["Step", ...] = ()

    @property
    def path(self) -> str | None:
        """The module to select for the step, ``None`` for an input or an addition."""
        return self.module if self.module is not None or not self.paths else self.paths[0]

    @property
    def locations(self) -> tuple[str, ...]:
        """Its modules as text: ``encoder.layer.1 … 5``; ``in …`` for a part of a module."""
        if not self.paths:
            return (f"in {self.module}",) if self.module else ()
        if not self.is_layers or len(self.paths) == 1:
            return self.paths
        first, *numbers = (int(path.rpartition(".")[2]) for path in self.paths)
        if numbers[-1] - first == len(numbers):
            return (f"{self.paths[0]}\N{NO-BREAK SPACE}…\N{NO-BREAK SPACE}{numbers[-1]}",)
        return (", ".join((self.paths[0], *map(str, numbers))),)

    @property
    def is_input(self) -> bool:
        """Whether the step is an input of the model and computes nothing."""
        return self.name in (TOKEN_IDS, SEGMENT_IDS)


class _Counted:
    """Steps with an expected number of parameters."""

    expected: int

    @property
    @abstractmethod
    def steps(self) -> tuple[Step, ...]:
        """All steps in order."""

    @property
    def parameters(self) -> int:
        """The parameters of all steps."""
        return sum(step.count.parameters for step in self.steps)

    @property
    def trainable(self) -> int:
        """The trainable parameters of all steps."""
        return sum(step.count.trainable for step in self.steps)

    @property
    def reconciles(self) -> bool:
        """Whether the steps add up to the expected number."""
        return self.parameters == self.expected


class Section(_Counted, Struct, frozen=True):
    """Successive steps with a title.

    Attributes:
        kind: the part of the model.
        title: in words.
        steps: its steps.
        expected: the number of parameters of its modules.
        path: the layer that it shows, "" for other sections.
        times: the number of layers of the model that equal that one.
        symbols: ``times`` in symbols, "" if unknown.
        is_executed: whether steps are in execution order; without a graph they are modules in the
            order of the tree, under their own names.
    """

    kind: SectionKind
    title: str
    steps: tuple[Step, ...] = ()
    expected: int = 0
    path: str = ""
    times: int = 1
    symbols: str = ""
    is_executed: bool = True


class Walkthrough(_Counted, Struct, frozen=True):
    """All sections; ``expected`` is the model's own number of parameters."""

    sections: tuple[Section, ...]
    expected: int

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps in order."""
        return tuple(step for section in self.sections for step in section.steps)

    @property
    def reconciles(self) -> bool:
        """Whether the sections add up to the model, and each section to its modules."""
        return self.parameters == self.expected and all(each.reconciles for each in self.sections)


def find_step(steps: Sequence[Step], architecture: Architecture, path: str) -> Step | None:
    """Return the step to show for a module, ``None`` if there is none.

    That is the step of this module, else the first step inside it, else the innermost one around
    it; for a module whose tensors are counted under another name, the step of that name.
    """
    flows, below = architecture.flows, f"{path}."
    single = [step for step in steps if not step.is_layers]
    around = [(at, step) for step in steps for at in _paths_of(step) if below.startswith(f"{at}.")]
    around.sort(key=lambda place: -len(place[0]))
    tied = (t.owner for t in architecture.parameters if (t.tied_to or "").startswith(below))
    found = chain(
        (step for step in single if path in _paths_of(step)),
        (s for s in single if any(f"{at}.".startswith(below) for at in _modules(s, flows))),
        (step for _, step in around),
        (step for at in tied if (step := find_step(steps, architecture, at))),
    )
    return next(found, None) if path else None


def common_path(paths: Iterable[str | None]) -> str:
    """Return the innermost module that contains all of these, or is one of them."""
    parts = zip(*(path.split(".") for path in paths if path is not None), strict=False)
    return ".".join(names[0] for names in takewhile(lambda names: len(set(names)) == 1, parts))


def _paths_of(step: Step) -> tuple[str, ...]:
    return step.paths if step.module is None else (*step.paths, step.module)


def _modules(step: Step, flows: Flows | None) -> set[str]:
    """Return the modules of a step, and those of its nodes and the nodes inside them."""
    flow = flows.flow(step.flow) if flows and step.flow is not None else None
    nodes = [node for node in (flow.nodes if flow else ()) if node.id in step.nodes]
    for node in nodes:
        nodes += node.nodes or ()
    inside = {node.path for node in nodes if node.path and node.path != step.flow}
    return inside.union(_paths_of(step))
