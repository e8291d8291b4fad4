"""Architecture to ``Walk``: plans where a class has one, the module tree in its order elsewhere."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from bertviewer.core.architecture import Architecture, ModuleNode
from bertviewer.core.evaluation import FormulaError, evaluate, letters_of
from bertviewer.core.run.activation_run import ActivationRun
from bertviewer.core.walk.ledger import Ledger
from bertviewer.core.walk.naming import StepNames
from bertviewer.core.walk.plan_steps import (
    NORM_NOTE,
    ONE_SEGMENT_NOTE,
    SCALE_NOTE,
    Plan,
    PlanStep,
)
from bertviewer.core.walk.plans import BASE_PLANS, LAYER_PLANS, SHARED_LAYERS, norms_first
from bertviewer.core.walk.shapes import Shapes
from bertviewer.core.walk.terms import collected, has_letters
from bertviewer.core.walk.walk import PartKind, StepCount, Walk, WalkPart, WalkStep, shortened


def build_walk(architecture: Architecture, run: ActivationRun | None = None) -> Walk:
    """Walk through a model.

    Args:
        architecture: the model; counts in symbols are given where they are derived already.
        run: its last run, for the ids of its inputs and for the lengths in shapes.
    """
    walker = _Walker(architecture, run)
    walker.visit(architecture.root)
    walker.take_the_rest()
    return Walk(tuple(_done(walker.parts)), architecture.root.parameters)


@dataclass(slots=True)
class _Part:
    """A part that is still growing."""

    kind: PartKind
    title: str
    times: int = 1
    letters: str = ""
    expected: int = 0
    is_planned: bool = True
    steps: list[WalkStep] = field(default_factory=list)


def _done(parts: Sequence[_Part]) -> Iterator[WalkPart]:
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


class _Walker:
    """Goes through the modules once, from the root on."""

    def __init__(self, architecture: Architecture, run: ActivationRun | None) -> None:
        # Of a checkpoint without a configuration only names are known, and they stand in order.
        is_known = "model_type" in architecture.config
        self.parts = [_Part("embeddings", "Embeddings" if is_known else "Modules by their names")]
        self._architecture = architecture
        self._ledger = Ledger(architecture)
        self._shapes = Shapes(architecture, run)
        self._names = StepNames(architecture)
        self._nodes = {node.path: node for node in architecture.modules}

    def visit(self, node: ModuleNode) -> None:
        """Walk through a module: step by step if it holds layers, in one step if not."""
        children = self._architecture.children(node.path)
        if (plan := BASE_PLANS.get(node.class_name)) is not None:
            self._follow(node, plan)
        elif node.class_name in LAYER_PLANS:
            self._layer(node, 1, "")
        elif self._names.is_opened(node):
            self._own(node)
            for index, child in enumerate(children):
                if child.repeat is None and self._names.is_in_list(child) and len(children) > 1:
                    title = f"{self._names.side_of(child.path)} layer {child.name}"
                    self._layer(child, 1, "", title.strip().capitalize())
                elif child.repeat is None:
                    self._turn(child)
                    self.visit(child)
                elif child.repeat.first == int(child.name):
                    self._run_of_layers(node, children[index : index + child.repeat.count])
        else:
            self._row(node)

    def take_the_rest(self) -> None:
        """Take up what no step has counted, so that the sum is the model's."""
        for node in tuple(self._ledger.owners_left()):
            self._own(node)

    def _follow(self, node: ModuleNode, plan: Plan) -> None:
        """Take a plan's steps; what it says nothing of follows as steps of its own."""
        self._shapes.enter(node)
        goes_deeper = any(step.kind == "visit" for step in plan)
        for step in plan:
            if step.needs and _join(node.path, step.needs) not in self._nodes:
                continue
            child = self._nodes[_join(node.path, step.path)] if step.path else None
            if step.kind == "visit" and child is not None:
                self.visit(child)
            elif step.kind == "target":
                self.parts.append(_Part("embeddings", step.name))
                self._shapes.turn_to_target()
            else:
                self._planned(node, step, child)
                if goes_deeper and child is not None and step.kind != "repeat":
                    self._expect(child.parameters)
        if not goes_deeper:
            self._expect(node.parameters)
            for left in tuple(self._ledger.owners_left(node.path)):
                self._add(left, self._ledger.take_own(left.path))

    def _planned(self, node: ModuleNode, step: PlanStep, child: ModuleNode | None) -> None:
        if step.kind in ("ids", "segments"):
            values = self._shapes.ids if step.kind == "ids" else self._shapes.segments
            shape = self._shapes.ids_shape()
            note = self._note(step, None)
            made = WalkStep(step.name, None, None, shape, note=note, values=shortened(values))
            self.parts[-1].steps.append(made)
            return
        count = StepCount()
        if child is not None and step.kind != "repeat":
            paths = [_join(node.path, module) for module in step.modules] or [child.path]
            count = self._ledger.take(paths)
        before, after = self._shapes.of_step(step, child)
        path = None if child is None else child.path
        note = self._note(step, child)
        self.parts[-1].steps.append(WalkStep(step.name, path, before, after, count, note))

    def _note(self, step: PlanStep, child: ModuleNode | None) -> str:
        """Return a step's note, or what is true in its place of a model of another make."""
        if step.kind == "segments" and self._architecture.config.get("type_vocab_size") == 1:
            return ONE_SEGMENT_NOTE
        if step.note == NORM_NOTE and child is not None:
            tensors = self._architecture.tensors_below(child.path)
            return NORM_NOTE if any(t.name.endswith(".bias") for t in tensors) else SCALE_NOTE
        return step.note

    def _run_of_layers(self, stack: ModuleNode, layers: Sequence[ModuleNode]) -> None:
        """Open the first of equal layers, and take the others in one step."""
        template, others = layers[0], layers[1:]
        letters = self._letters(stack, template, len(layers))
        self._layer(template, len(layers), letters)
        pieces = tuple(piece for step in self.parts[-2].steps for piece in step.count.pieces)
        symbols = ""
        if has_letters(pieces):
            times = f"({letters}-1)" if letters.isidentifier() else str(len(others))
            symbols = f"{times}*({collected(pieces)})"
        taken = self._ledger.take(other.path for other in others)
        numbers = f"{len(others)}*{template.parameters:,}" if taken.parameters else ""
        hidden = self._shapes.hidden()
        name = f"the other {len(others)} layers" if len(others) > 1 else "the other layer"
        count = StepCount(taken.parameters, taken.trainable, symbols, numbers)
        note = "Each has tensors of its own, of the same shapes."
        step = WalkStep(name, others[0].path, hidden, hidden, count, note, stands_for_others=True)
        self.parts[-1].steps.append(step)
        self._expect(sum(other.parameters for other in others))

    def _turn(self, child: ModuleNode) -> None:
        """Begin anew where a decoder follows an encoder."""
        if self._names.has_two_sides and child.name == "decoder" and self._names.is_opened(child):
            self.parts.append(_Part("embeddings", "Embeddings of the target"))
            self._shapes.turn_to_target()

    def _layer(self, layer: ModuleNode, times: int, letters: str, title: str = "") -> None:
        """Open a layer as a part of its own; what follows belongs to the next part."""
        side = self._names.side_of(layer.path)
        title = title or f"One {side} layer".replace("  ", " ")
        self.parts.append(_Part("layer", title, times, letters))
        self._inside(layer)
        self.parts.append(_Part("rest", f"The rest of the {side}" if side else "The rest"))
        key = SHARED_LAYERS.get(layer.class_name, "")
        applied = self._architecture.config.get(key)
        if isinstance(applied, int) and applied > times == 1:
            hidden = self._shapes.hidden()
            name = f"the same layer, {applied - 1} more times"
            note = f"The layer is stored once and applied {applied} times."
            self.parts[-1].steps.append(WalkStep(name, layer.path, hidden, hidden, note=note))

    def _inside(self, layer: ModuleNode) -> None:
        plan = LAYER_PLANS.get(layer.class_name)
        if plan is not None:
            is_pre_norm = layer.attributes.get("norm_first") is True
            self._follow(layer, norms_first(plan) if is_pre_norm else plan)
            return
        self.parts[-1].is_planned = False
        self._shapes.enter(layer)
        self._own(layer)
        for child in self._architecture.children(layer.path):
            if child.class_name in LAYER_PLANS or child.class_name == "ModuleList":
                self._inside(child)
            else:
                self._row(child)

    def _own(self, node: ModuleNode) -> None:
        """Take a module's own tensors, before the modules in it."""
        count = self._ledger.take_own(node.path)
        if count.parameters:
            self._add(node, count)
            self._expect(node.own_parameters)

    def _row(self, node: ModuleNode) -> None:
        """Take a module in one step; there is none for a module without tensors."""
        tensors = self._architecture.tensors_below(node.path)
        if not tensors:
            return
        tied = next((tensor.tied_to for tensor in tensors if tensor.tied_to is not None), None)
        note = f"tied to {tied}, counted there" if tied else ""
        is_first = not any(part.steps for part in self.parts)
        if is_first and self._names.name_of(node) == "Embedding-Token":
            self._planned(node, PlanStep("Input-Token", kind="ids"), None)
        self._add(node, self._ledger.take([node.path]), note)
        self._expect(node.parameters)

    def _add(self, node: ModuleNode, count: StepCount, note: str = "") -> None:
        before, after = self._shapes.of_module(node)
        step = WalkStep(self._names.name_of(node), node.path, before, after, count, note)
        self.parts[-1].steps.append(step)

    def _expect(self, parameters: int) -> None:
        self.parts[-1].expected += parameters

    def _letters(self, stack: ModuleNode, layer: ModuleNode, count: int) -> str:
        """Return the letters that multiply a layer in its stack's formula, if they do."""
        try:
            letters = letters_of(stack.count_formula) - letters_of(layer.count_formula)
            product = "*".join(sorted(letters))
            return product if product and evaluate(product, self._shapes.values) == count else ""
        except FormulaError:
            return ""


def _join(path: str, below: str) -> str:
    return f"{path}.{below}" if path and below else path or below
