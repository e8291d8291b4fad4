"""Architecture to ``Walk``: the order of execution, read off the flow of the whole model."""

from collections.abc import Iterator
from dataclasses import replace

from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.flow import Flow, Node
from bertviewer.core.architecture.flows import Flows
from bertviewer.core.walk import notes
from bertviewer.core.walk.blocks import BlockReader
from bertviewer.core.walk.forms import Block, Form, innermost
from bertviewer.core.walk.ledger import Ledger
from bertviewer.core.walk.naming import (
    SEGMENT_EMBEDDING,
    SEGMENT_IDS,
    TOKEN_EMBEDDING,
    TOKEN_IDS,
    Section,
)
from bertviewer.core.walk.parts import (
    Part,
    again_of,
    done,
    letters_of_stack,
    others_of,
    others_part,
    rest_part,
)
from bertviewer.core.walk.shapes import Shapes
from bertviewer.core.walk.stacks import (
    EqualLayers,
    equal_layers,
    is_layer,
    layers_of,
    with_single_layers,
)
from bertviewer.core.walk.tree import TreeWalker
from bertviewer.core.walk.walk import Walk, WalkShape, WalkStep, shortened
from bertviewer.core.walk.wires import Wires, is_data, target_side

TARGET = "Target embeddings"


def build_walk(architecture: Architecture, run: ActivationRun | None = None) -> Walk:
    """Walk through a model; without flows, or none of the whole, as the module tree has it.

    Args:
        architecture: the model; counts in symbols are given where they are derived already.
        run: its last run, for the ids of its inputs and for the lengths in shapes.
    """
    flows = architecture.flows
    flow = None if flows is None else flows.flow("")
    if flows is None or flow is None:
        parts = TreeWalker(architecture).walk()
    else:
        parts = _Walker(architecture, run, flows, flow).walk()
    return Walk(tuple(done(parts)), architecture.root.parameters)


class _Walker:
    """Goes through the flow of a whole model, once."""

    def __init__(
        self, architecture: Architecture, run: ActivationRun | None, flows: Flows, flow: Flow
    ) -> None:
        self.parts = [Part("embeddings", "Embeddings")]
        self._architecture = architecture
        self._nodes = {node.path: node for node in architecture.modules}
        self._flows = flows
        self._wires = Wires(flow)
        self._all = with_single_layers(flows, flow.nodes)
        self._equal = equal_layers(architecture, flows, self._all)
        self._reader = BlockReader(flows, has_head=architecture.source.task != "base")
        self._ledger = Ledger(architecture)
        self._shapes = Shapes(architecture, run)
        self._target = target_side(self._wires)
        self._seen_inputs: set[str] = set()
        self._waiting: list[tuple[Part, EqualLayers]] = []
        self._opened: set[str] = set()
        self._passed: set[str] = set()
        self._hidden: tuple[WalkShape | None, WalkShape | None] = (None, None)
        self._ends_unnormed = False
        self._last_layer: Node | None = None

    def walk(self) -> list[Part]:
        """Return the parts of the walk, the target's after the source's."""
        target = [node for node in self._all if node.id in self._target]
        source = [node for node in self._all if node.id not in self._target]
        for side, nodes in (("encoder" if target else "", source), ("decoder", target)):
            if side == "decoder" and nodes:
                self._shapes.turn_to_target()
                self.parts.append(Part("embeddings", TARGET))
            self._side(side, nodes)
        self._take_the_rest()
        return self.parts

    def _side(self, side: str, nodes: list[Node]) -> None:
        """Walk through one side of a model: runs of layers, and what is between."""
        between: list[Node] = []
        for node in nodes:
            layers = self._equal.get(node.path or "") if is_layer(node) else None
            if layers is None:
                between.append(node)
                continue
            self._between(between, side)
            between = []
            self._layer(node, layers, side)
            self._last_layer = node
        self._between(between, side)
        self._others(side)

    def _between(self, nodes: list[Node], side: str) -> None:
        """Take what is before, between or after layers."""
        shown = [node for node in nodes if node.kind not in ("input", "output", "constant")]
        if not shown:
            return
        self._others(side)
        here: list[Node] = []
        for node in shown:
            # Another text or picture has embeddings of its own, beside the first one's layers.
            inputs = self._wires.inputs_of([node])
            is_new = bool(inputs) and not inputs & self._seen_inputs
            if is_new and self._equal and self.parts[-1].kind == "rest":
                self._take(here)
                here = []
                self.parts.append(Part("embeddings", "Embeddings"))
            self._seen_inputs |= inputs
            here.append(node)
        self._take(here)

    def _take(self, nodes: list[Node]) -> None:
        """Take nodes of the current part."""
        section: Section = "embeddings" if self.parts[-1].kind == "embeddings" else "rest"
        blocks = list(self._reader.part(self._wires, nodes, section if self._equal else "rest"))
        for block in (*self._inputs(blocks), *blocks):
            self._add(block)

    def _inputs(self, blocks: list[Block]) -> Iterator[Block]:
        """Yield the ids that tables are looked up by, before the first of these."""
        looked_up = {block.name: block for block in reversed(blocks) if block.looked_up}
        is_target = self.parts[-1].title == TARGET
        if (table := looked_up.get(TOKEN_EMBEDDING)) is not None:
            note = notes.TARGET_TOKENS if is_target else notes.TOKENS
            yield Block(TOKEN_IDS, None, note, given=table.taken)
        if (table := looked_up.get(SEGMENT_EMBEDDING)) is not None:
            rows = [tensor.shape[0] for tensor in self._ledger.tensors(table.reads)]
            note = notes.ONE_SEGMENT if rows == [1] else notes.SEGMENTS
            yield Block(SEGMENT_IDS, None, note, given=table.taken)

    def _add(self, block: Block) -> None:
        """Count a block, and add it as a step."""
        tensors = self._ledger.tensors(block.reads)
        self.parts[-1].note_outside(t for t in tensors if not self._ledger.is_counted(t.name))
        before, after = self._shapes.of_block(block, tensors)
        note = self._note(block)
        count = self._ledger.take_tensors(block.reads)
        path = self._whole(block.path) if block.name in ("Pooler", "Head") else block.path
        step = WalkStep(
            block.name, path, before, after, count, note, flow=block.flow, nodes=block.nodes
        )
        if step.is_input:
            ids = step.name == TOKEN_IDS
            values = self._shapes.ids if ids else self._shapes.segments
            step = replace(step, values=shortened(values))
        self.parts[-1].add(step)
        self._ends_unnormed = self._ends_unnormed and block.name == "Dropout"

    def _whole(self, path: str | None) -> str | None:
        """Return the outermost module that holds just what the one at ``path`` holds."""
        node = self._nodes.get(path or "")
        while node is not None and node.parent:
            above = self._nodes[node.parent]
            if above.parameters != node.parameters:
                break
            node = above
        return path if node is None else node.path

    def _note(self, block: Block) -> str:
        """Return a block's note, or why it counts less than it reads."""
        if block.looked_up and all(map(self._ledger.is_counted, block.reads)):
            return notes.AGAIN
        for tensor in self._architecture.tensors_below(block.path or "") if block.path else ():
            first = tensor.tied_to
            if first in block.reads and first is not None and self._ledger.is_counted(first):
                return notes.tied_to(first)
        if block.name == "Norm" and self._ends_unnormed and self.parts[-1].kind == "rest":
            return notes.LAST_NORM
        return block.note

    def _layer(self, node: Node, layers: EqualLayers, side: str) -> None:
        """Open the first of equal layers as a part of its own."""
        path = node.path or ""
        flow = self._flows.flow(path)
        self._passed.update(layers_of(node))
        if layers.paths[0] in self._opened or flow is None:
            return
        for block in self._reader.asides(node):
            self._add(block)
        layer = self._nodes[path]
        count = len(layers.paths)
        letters = letters_of_stack(self._architecture, layer, count)
        part = Part("layer", layers.title(side), path=path, times=count, letters=letters)
        self.parts.append(part)
        self._opened.add(layers.paths[0])
        self._seen_inputs |= self._wires.inputs_of([node])
        for block in self._reader.read(flow, "layer"):
            self._add(block)
        self._unused(path)
        part.expected = layer.parameters + part.outside
        last = [each for each in flow.nodes if each.kind not in ("output", "constant")][-1:]
        self._ends_unnormed = any(each.operation == "residual" for each in last)
        ends = [each for each in flow.nodes if each.kind in ("input", "output") and is_data(each)]
        forms = [Form(each.shape, each.symbolic_shape) for each in (ends[0], ends[-1])]
        self._hidden = self._shapes.of_form(forms[0]), self._shapes.of_form(forms[1])
        self._waiting.append((part, layers))

    def _others(self, side: str) -> None:
        """Take the layers that are like those that were opened, equal ones in one step."""
        found = others_part(side)
        for part, layers in tuple(self._waiting):
            if not self._passed.issuperset(layers.paths):
                continue
            self._waiting.remove((part, layers))
            others = [self._nodes[path] for path in layers.paths[1:]]
            if others:
                step = others_of(part, others, self._ledger, self._hidden, notes.EACH_ITS_OWN)
                if not layers.is_alone:
                    step = replace(step, name=f"{step.name}, like layer {layers.number}")
                found.add(step)
            if layers.applied > len(layers.paths):
                flow = self._flows.flow(layers.paths[0])
                path = layers.paths[0] if flow is None else innermost(flow)
                found.add(again_of(layers, path, self._hidden))
        if found.steps or self.parts[-1].kind == "layer":
            self.parts += found, rest_part(side)
        if self._last_layer is not None:
            for block in self._reader.after(self._wires, self._last_layer, "rest"):
                self._add(block)
            self._last_layer = None

    def _unused(self, path: str) -> None:
        """Add what is left of a layer, so that the sum is the model's."""
        for node in self._ledger.unused_below(path):
            own = [t.name.rpartition(".")[2] for t in self._ledger.left(node.path)]
            name = node.name if self._ledger.is_free(node.path) else ", ".join(own)
            count = self._ledger.take([node.path])
            self.parts[-1].add(WalkStep(name, node.path, None, None, count, notes.UNUSED))

    def _take_the_rest(self) -> None:
        if not self._ledger.left():
            return
        if self.parts[-1].kind == "layer":
            self.parts.append(rest_part())
        self._unused("")
