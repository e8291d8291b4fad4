"""Builds a model's walkthrough from the graph of the whole model, in execution order."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.architecture.architecture import Architecture, ancestors
from bertviewer.core.architecture.flow import Node
from bertviewer.core.architecture.module_node import ModuleNode
from bertviewer.core.architecture.tensor_info import TensorInfo
from bertviewer.core.expressions.counts import Block, Count
from bertviewer.core.text.numerals import count_text
from bertviewer.core.walkthrough.counter import TensorCounter
from bertviewer.core.walkthrough.edges import ENDS, FlowEdges, is_data
from bertviewer.core.walkthrough.layers import EqualLayers, equal_layers, with_single_layers
from bertviewer.core.walkthrough.module_flows import module_flows
from bertviewer.core.walkthrough.shapes import ShapeReader
from bertviewer.core.walkthrough.steps import (
    SEGMENT_EMBEDDING,
    TOKEN_EMBEDDING,
    Place,
    StepReader,
    common_path,
)
from bertviewer.core.walkthrough.sums import collected
from bertviewer.core.walkthrough.walkthrough import (
    SEGMENT_IDS,
    TOKEN_IDS,
    Section,
    Step,
    StepCount,
    Walkthrough,
)

TARGET = "Target embeddings"
UNUSED = "Not used in a forward pass with these inputs."
SHARED = "Shared with the source and counted there."
ONE_SEGMENT = "0 for every token: the model has only one segment type."
_SEGMENTS = "The sentence that each token belongs to: 0 or 1."
_OWN_TENSORS = "Each layer has its own tensors, with the same shapes."
_ONE_STORED = "The layer is stored once and applied"
_SEVERAL_STORED = "Each layer is stored once; in total, layers are applied"
_LAST_NORM = "Normalises the sum that the last layer leaves unnormalised."
_MOST_IDS = 10


def build_walkthrough(architecture: Architecture, run: ActivationRun | None = None) -> Walkthrough:
    """Return the walkthrough of a model; without its graph, modules in the order of the tree.

    Args:
        architecture: the model; counts in symbols are given where they are derived already.
        run: its last run, for the ids of its inputs and for the lengths in shapes.
    """
    flows = architecture.flows
    is_traced = flows is not None and flows.flow("") is not None
    # Of a checkpoint without a configuration only the names are known.
    is_known = is_traced or "model_type" in architecture.config
    if not is_traced:
        architecture = replace(architecture, flows=module_flows(architecture))
    found = _Builder(architecture, run, "Embeddings" if is_known else "Modules by name").build()
    sections = tuple(replace(section, is_executed=is_traced) for section in found)
    return Walkthrough(sections, architecture.root.parameters)


class _Builder:
    """Goes through the graph of the whole model once, and counts each tensor once."""

    def __init__(self, architecture: Architecture, run: ActivationRun | None, title: str) -> None:
        flows = architecture.flows
        flow = None if flows is None else flows.flow("")
        assert flows is not None
        assert flow is not None
        self._architecture, self._flows, self._edges = architecture, flows, FlowEdges(flow)
        self._nodes = with_single_layers(flows, flow.nodes)
        self._layers = equal_layers(architecture, flows, self._nodes)
        self._counter = TensorCounter(architecture)
        self._shapes = ShapeReader(architecture, run)
        self._sections = [Section("embeddings", title)]
        self._seen_inputs: set[str] = set()
        self._passed: set[str] = set()
        self._waiting: list[EqualLayers] = []
        self._last_layer: Node | None = None
        self._is_after_sum = False  # whether the last step is an addition that ends a layer

    def build(self) -> tuple[Section, ...]:
        """Return the sections, those of a decoder after those of its encoder."""
        given = {n.id for n in self._nodes if n.kind == "input" and n.name.startswith("decoder ")}
        inputs = {node.id: self._edges.inputs_of(node) for node in self._nodes}
        target = {at for at, found in inputs.items() if found & given}
        for node in reversed(self._nodes):  # and what is computed for the decoder alone
            users = {user.id for user in self._edges.users(node)}
            if users and users <= target and not inputs[node.id]:
                target.add(node.id)
        self._side("encoder " if target else "", [n for n in self._nodes if n.id not in target])
        if target:
            self._shapes.turn_to_target()
            self._sections.append(Section("embeddings", TARGET))
            self._side("decoder ", [node for node in self._nodes if node.id in target])
        for unused in self._counter.unused().items():
            self._add_unused(*unused)
        sections: list[Section] = []
        number = 1
        for section in self._sections:
            steps = tuple(replace(s, number=at) for at, s in enumerate(section.steps, number))
            number += len(steps)
            expected = section.expected or section.parameters
            sections += [replace(section, steps=steps, expected=expected)] if steps else []
        return tuple(sections)

    def _side(self, side: str, nodes: Sequence[Node]) -> None:
        """Add the layers of one side of the model, and what is before, between and after them."""
        between: list[Node] = []
        for node in nodes:
            layers = self._layers.get(node.path or "") if node.is_layer else None
            if layers is not None:
                self._between(between, side)
                between = []
                self._layer(node, layers, side)
            elif node.kind not in ENDS and not self._is_weight_of_layer(node):
                between.append(node)
        self._between(between, side)
        self._other_layers(side)

    def _is_weight_of_layer(self, node: Node) -> bool:
        """Return whether a node changes a weight that a layer reads, and so is a part of that."""
        above = {path for name in node.reads for path in ancestors(name)}
        return not self._edges.data(node) and bool(above & self._layers.keys())

    def _between(self, nodes: Sequence[Node], side: str) -> None:
        """Add the steps of nodes before, between or after layers."""
        if nodes:
            self._other_layers(side)
        for at, node in enumerate(nodes):
            inputs = self._edges.inputs_of(node)
            is_new = bool(inputs) and not inputs & self._seen_inputs
            self._seen_inputs |= inputs
            # Another text or image has its own embeddings, after the layers of the first one.
            if is_new and self._layers and self._sections[-1].kind == "rest":
                self._add_steps(nodes[:at])
                self._sections.append(Section("embeddings", "Embeddings"))
                self._between(nodes[at:], side)
                return
        self._add_steps(nodes)

    def _add_steps(self, nodes: Sequence[Node]) -> None:
        """Add the steps of nodes, the ids before the tables in which they are looked up."""
        is_first = self._sections[-1].kind == "embeddings" and bool(self._layers)
        steps = list(self._reader(self._edges, "embeddings" if is_first else "rest").steps(nodes))
        tables = {step.name: step for step in reversed(steps)}
        if (table := tables.get(TOKEN_EMBEDDING)) is not None:
            of_target = " of the target" if self._sections[-1].title == TARGET else ""
            ids = _shortened(token.id for token in self._shapes.tokens)
            note = f"The token ids{of_target}."
            self._add(Step(TOKEN_IDS, output_shape=table.input_shape, note=note, values=ids))
        if (table := tables.get(SEGMENT_EMBEDDING)) is not None:
            rows = [tensor.shape[0] for tensor in self._counter.tensors(table.reads)]
            ids = _shortened(token.segment for token in self._shapes.tokens)
            note = ONE_SEGMENT if rows == [1] else _SEGMENTS
            self._add(Step(SEGMENT_IDS, output_shape=table.input_shape, note=note, values=ids))
        for step in steps:
            self._add_read(step)

    def _add_read(self, step: Step) -> None:
        """Add a step of the graph with the modules that hold just what it reads."""
        counter, note = self._counter, step.note
        tensors = counter.tensors(step.reads)
        counted = {tensor.name for tensor in tensors if not counter.is_left(tensor)}
        is_new = len(counted) < len(tensors)
        below = () if step.module is None else self._architecture.tensors_below(step.module)
        tied = next((tensor.tied_to for tensor in below if tensor.tied_to in counted), None)
        if step.name in (TOKEN_EMBEDDING, SEGMENT_EMBEDDING) and not is_new:
            note = SHARED
        elif tied:
            note = f"Tied to {tied} and counted there."
        elif step.name == "Norm" and self._is_after_sum and self._sections[-1].kind == "rest":
            note = _LAST_NORM
        is_outermost = step.name in ("Pooler", "Head") and is_new
        paths = counter.modules(tensors, None if is_outermost else step.module)
        module = paths[0] if is_outermost and paths else step.module or None
        self._add(replace(step, paths=paths, module=module, note=note), tensors)
        if step.name != "Dropout":
            self._is_after_sum = step.name == "Add" and self._sections[-1].kind == "layer"

    def _add(self, step: Step, tensors: Sequence[TensorInfo] = ()) -> None:
        """Add a step to the last section, and count those of its tensors that are not yet."""
        section = self._sections[-1]
        new = list(filter(self._counter.is_left, tensors))
        outside = (t.numel for t in new if not t.name.startswith(f"{section.path}."))
        expected = section.expected + sum(outside)
        if new:
            step = replace(step, count=self._counter.take(new))
        self._sections[-1] = replace(section, steps=(*section.steps, step), expected=expected)

    def _add_unused(self, path: str, tensors: Sequence[TensorInfo]) -> None:
        paths = self._counter.modules(tensors, path)
        own = ", ".join(tensor.name.rpartition(".")[2] for tensor in tensors)
        name = path.rpartition(".")[2] if paths else own
        self._add(Step(name, paths, path or None, note=UNUSED), tensors)

    def _layer(self, node: Node, layers: EqualLayers, side: str) -> None:
        """Show the first of equal layers in its own section."""
        is_shown = layers.paths[0] in self._passed
        self._passed.update(node.layers)
        self._last_layer = node
        path = node.path or ""
        flow, layer = self._flows.flow(path), self._architecture.module(path)
        if is_shown or flow is None or layer is None:
            return
        for step in self._reader(self._edges, "rest").tables_read(node):
            self._add_read(step)
        title = layers.title.lower().replace("layer", f"{side}layer").capitalize()
        times = len(layers.paths)
        symbols = _times_in_symbols(self._architecture, layer, times)
        self._sections.append(Section("layer", title, (), layer.parameters, path, times, symbols))
        self._seen_inputs |= self._edges.inputs_of(node)
        for step in self._reader(FlowEdges(flow), "layer").steps(flow.nodes):
            self._add_read(step)
        for unused in self._counter.unused(path).items():
            self._add_unused(*unused)
        self._waiting.append(layers)

    def _other_layers(self, side: str) -> None:
        """Add the layers that are equal to those shown, and start the section after them."""
        passed = [each for each in self._waiting if self._passed.issuperset(each.paths)]
        if not passed and self._sections[-1].kind != "layer":
            return
        self._waiting = [each for each in self._waiting if each not in passed]
        shown = {section.path: section for section in self._sections}
        self._sections.append(Section("others", f"Other {side}layers"))
        for layers in passed:
            section, stored = shown[layers.paths[0]], len(layers.paths)
            if stored > 1:
                self._add_equal(section, layers)
            if layers.calls > stored:
                times = count_text(layers.calls // stored - 1, "once more", "{0} more times")
                name = f"The same {count_text(stored, 'layer', '{0} layers')}, {times}"
                note = count_text(stored, _ONE_STORED, _SEVERAL_STORED)
                module = common_path(each.path for each in section.steps) or None
                step = self._layers_step(section, name, layers.paths)
                self._add(replace(step, module=module, note=f"{note} {layers.calls} times."))
        self._sections.append(Section("rest", f"After the {side}layers"))
        if self._last_layer is not None:
            for step in self._reader(self._edges, "rest").dropouts(self._last_layer):
                self._add_read(step)

    def _add_equal(self, section: Section, layers: EqualLayers) -> None:
        """Add the layers that are equal to the one a section shows, in one step."""
        paths = layers.paths[1:]
        taken = self._counter.take(t for path in paths for t in self._counter.below(path))
        pieces = [piece for step in section.steps for piece in step.count.pieces]
        symbols = numbers = ""
        if any(step.count.symbols for step in section.steps):
            is_letter = section.symbols.isidentifier()
            times = f"({section.symbols}-1)" if is_letter else str(len(paths))
            symbols = f"{times}*({collected(pieces)})"
        if taken.parameters:
            numbers = f"{len(paths)}*{taken.parameters // len(paths):,}"
        count = StepCount(taken.parameters, taken.trainable, symbols, numbers)
        step = self._layers_step(section, layers.others_name, paths)
        self._add(replace(step, count=count, note=_OWN_TENSORS))

    def _layers_step(self, section: Section, name: str, paths: tuple[str, ...]) -> Step:
        """Return a step of whole layers with the shapes of the layer that a section shows."""
        flow = self._flows.flow(section.path)
        ends = [n for n in (flow.nodes if flow else ()) if n.kind in ("input", "output")]
        shapes = [self._shapes.shape(end) for end in ends if is_data(end)] or [None]
        return Step(name, paths, None, shapes[0], shapes[-1], is_layers=True)

    def _reader(self, edges: FlowEdges, place: Place) -> StepReader:
        return StepReader(self._architecture, self._shapes, edges, place)


def _times_in_symbols(architecture: Architecture, layer: ModuleNode, times: int) -> str:
    """Return the symbols that multiply a layer in the formula of its list, if they do."""
    above = architecture.module(layer.parent or "")
    values = {symbol.letter: symbol.value for symbol in architecture.symbols}
    for part in Count.read(above.count_formula).parts if above and times > 1 else ():
        if isinstance(part, Block) and part.times.letters and part.times.at(values) == times:
            return str(part.times)
    return ""


def _shortened(ids: Iterable[int]) -> str:
    """Return ``101 2023 … 102`` for a long list, all of a short one."""
    words = list(map(str, ids))
    if len(words) > _MOST_IDS:
        words = [*words[: _MOST_IDS - 2], "…", words[-1]]
    return " ".join(words)
