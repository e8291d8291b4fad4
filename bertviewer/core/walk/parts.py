"""The parts of a walk while they grow: steps are counted as they come."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.module_node import ModuleNode
from bertviewer.core.architecture.tensor_info import TensorInfo
from bertviewer.core.expressions.evaluation import FormulaError, evaluate, letters_of
from bertviewer.core.walk import notes
from bertviewer.core.walk.ledger import Ledger
from bertviewer.core.walk.stacks import EqualLayers
from bertviewer.core.walk.terms import collected, has_letters
from bertviewer.core.walk.walk import PartKind, StepCount, WalkPart, WalkShape, WalkStep


@dataclass(slots=True)
class Part:
    """A part that is still growing.

    ``path`` is the layer that it opens. ``expected`` is what its modules hold, by their own counts;
    ``outside`` what a layer's steps count of other modules.
    """

    kind: PartKind
    title: str
    path: str = ""
    is_planned: bool = True
    times: int = 1
    letters: str = ""
    expected: int = 0
    outside: int = 0
    steps: list[WalkStep] = field(default_factory=list)

    def add(self, step: WalkStep) -> None:
        """Add a step that is counted where it stands."""
        self.steps.append(step)
        self.expected += step.count.parameters

    def note_outside(self, tensors: Iterable[TensorInfo]) -> None:
        """Note tensors that a step counts, so far as they are not the layer's own."""
        within = f"{self.path}."
        self.outside += sum(t.numel for t in tensors if not t.name.startswith(within))


def others_part(side: str = "", *, is_planned: bool = True) -> Part:
    """Return the part of the layers that are like one that was opened, without any yet."""
    title = f"Other {side} layers".replace("  ", " ")
    return Part("others", title, is_planned=is_planned)


def rest_part(side: str = "", *, is_planned: bool = True) -> Part:
    """Return the part of what comes after layers, without anything yet."""
    title = f"After the {side} layers".replace("  ", " ")
    return Part("rest", title, is_planned=is_planned)


def done(parts: list[Part]) -> Iterator[WalkPart]:
    """Yield the parts that have steps, with their steps numbered."""
    number = 0
    for part in parts:
        steps = []
        for step in part.steps:
            number += 1
            steps.append(replace(step, number=number))
        if steps:
            yield WalkPart(
                part.kind,
                part.title,
                tuple(steps),
                part.expected,
                part.times,
                part.letters,
                part.is_planned,
            )


def others_of(
    template: Part,
    others: list[ModuleNode],
    ledger: Ledger,
    hidden: tuple[WalkShape | None, WalkShape | None],
    note: str,
) -> WalkStep:
    """Return all layers that are like the one before, in one step."""
    pieces = tuple(piece for step in template.steps for piece in step.count.pieces)
    symbols = ""
    if has_letters(pieces):
        letters = template.letters
        times = f"({letters}-1)" if letters.isidentifier() else str(len(others))
        symbols = f"{times}*({collected(pieces)})"
    taken = ledger.take(other.path for other in others)
    numbers = f"{len(others)}*{others[0].parameters:,}" if taken.parameters else ""
    count = StepCount(taken.parameters, taken.trainable, symbols, numbers)
    paths = tuple(other.path for other in others)
    return WalkStep(_layers_text(paths), paths[0], *hidden, count, note, others=paths)


def _layers_text(paths: tuple[str, ...]) -> str:
    """Return ``Layers 1–5``; ``3 other layers`` where these do not follow one another."""
    numbers = [path.rpartition(".")[2] for path in paths]
    first, last = numbers[0], numbers[-1]
    if len(numbers) == 1:
        return f"Layer {first}"
    if int(last) - int(first) == len(numbers) - 1:
        return f"Layers {first}–{last}"
    return f"{len(numbers)} other layers"


def again_of(
    layers: EqualLayers, path: str, hidden: tuple[WalkShape | None, WalkShape | None]
) -> WalkStep:
    """Return the further calls of layers that are stored once, the first of them at ``path``."""
    stored = len(layers.paths)
    times = layers.applied // stored - 1
    which = "layer" if stored == 1 else f"{stored} layers"
    often = "once more" if times == 1 else f"{times} more times"
    note = notes.applied(stored, layers.applied)
    return WalkStep(
        f"The same {which}, {often}", path, *hidden, note=note, others=tuple(layers.paths)
    )


def letters_of_stack(architecture: Architecture, layer: ModuleNode, count: int) -> str:
    """Return the letters that multiply a layer in its stack's formula, if they do."""
    nodes = {node.path: node for node in architecture.modules}
    if layer.parent is None or count < 2:
        return ""
    values = {symbol.letter: symbol.value for symbol in architecture.symbols}
    try:
        letters = letters_of(nodes[layer.parent].count_formula) - letters_of(layer.count_formula)
        product = "*".join(sorted(letters))
        return product if product and evaluate(product, values) == count else ""
    except FormulaError:
        return ""
