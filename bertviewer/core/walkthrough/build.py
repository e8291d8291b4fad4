"""Builds a model's walkthrough from the graph of the whole model, in execution order."""

from collections.abc import Sequence
from itertools import count

from msgspec.structs import replace

from bertviewer.core.expressions.polynomials import Count
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Flows, Node
from bertviewer.core.schema.modules import ModuleNode, TensorInfo, ancestors
from bertviewer.core.util.numbers import count_text
from bertviewer.core.walkthrough.counts import TensorCounter, collected
from bertviewer.core.walkthrough.node_groups import (
    ENDS,
    EqualLayers,
    FlowEdges,
    equal_layers,
    is_data,
    module_flows,
    with_single_layers,
)
from bertviewer.core.walkthrough.shapes import ShapeReader
from bertviewer.core.walkthrough.steps import (
    SEGMENT_EMBEDDING,
    TOKEN_EMBEDDING,
    StepReader,
)
from bertviewer.core.walkthrough.walkthrough import (
    SEGMENT_IDS,
    TOKEN_IDS,
    Section,
    Step,
    StepCount,
    Walkthrough,
    common_path,
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
_MAX_IDS = 10


def build_walkthrough(architecture: Architecture, run: ActivationRun | None = None) -> Walkthrough:
    """Return the walkthrough of a model; without its graph, modules in the order of the tree.

    Args:
        architecture: the model; counts have symbols as far as these are derived.
        run: its last run, for token ids and lengths.
    """
    flows = architecture.flows
    if flows is None or flows.flow("") is None:
        flows = module_flows(architecture)
    sections = _Builder(replace(architecture, flows=flows), flows, run).build()
    return Walkthrough(sections, architecture.root.parameters)


class _Builder:
    """Walks through the graph of the whole model, and counts each tensor once."""

    def __init__(self, architecture: Architecture, flows: Flows, run: ActivationRun | None) -> None:
        flow = flows.distinct[""]
        self._architecture, self._flows, self._edges = architecture, flows, FlowEdges(flow)
        self._nodes = with_single_layers(flows, flow.nodes)
        self._layers = equal_layers(architecture, flows, self._nodes)
        self._counter = TensorCounter(architecture)
        self._shapes = ShapeReader(architecture, run)
        self._before = StepReader(architecture, self._shapes, flow, "embeddings")
        self._after = StepReader(architecture, self._shapes, flow, "rest")
        # A checkpoint without a configuration has only names.
        is_known = bool(flow.edges) or "model_type" in architecture.config
        self._sections = [Section("embeddings", "Embeddings" if is_known else "Modules by name")]
        self._seen_inputs: set[str] = set()
        self._passed: set[str] = set()
        self._shown: dict[str, Section] = {}
        self._waiting: list[EqualLayers] = []
        self._is_after_sum = False  # whether the last step is an addition that ends a layer

    def build(self) -> tuple[Section, ...]:
        """Return the sections, those of a decoder after those of its encoder."""
        given = {n.id for n in self._nodes if n.kind == "input" and n.name.startswith("decoder ")}
        inputs = self._edges.inputs
        target = {node.id for node in self._nodes if inputs[node.id] & given}
        for node in reversed(self._nodes):  # also nodes that only the decoder reads
            users = {user.id for user in self._edges.users(node)}
            if users and users <= target and not inputs[node.id]:
                target.add(node.id)
        self._side("encoder " if target else "", [n for n in self._nodes if n.id not in target])
        if target:
            self._shapes.turn_to_target()
            self._sections.append(Section("embeddings", TARGET))
            self._side("decoder ", [node for node in self._nodes if node.id in target])
        self._add_unused()
        numbers, is_executed = count(1), bool(self._edges.flow.edges)
        return tuple(
            replace(
                section,
                steps=tuple(replace(step, number=next(numbers)) for step in section.steps),
                expected=section.expected or section.parameters,
                is_executed=is_executed,
            )
            for section in self._sections
            if section.steps
        )

    def _side(self, side: str, nodes: Sequence[Node]) -> None:
        """Add the layers of the encoder or decoder, and the steps around them."""
        between: list[Node] = []
        last: Node | None = None
        for node in nodes:
            layers = self._layers.get(node.path or "") if node.is_layer else None
            if layers is not None:
                self._add_steps(between)
                between, last = [], node
                self._layer(node, layers, side)
            elif node.kind not in ENDS and not self._is_weight_of_layer(node):
                self._other_layers(side, last)
                inputs = self._edges.inputs[node.id]
                is_new = bool(inputs) and not inputs & self._seen_inputs
                self._seen_inputs |= inputs
                # A second text or image has its own embeddings.
                if is_new and self._layers and self._sections[-1].kind == "rest":
                    self._add_steps(between)
                    between = []
                    self._sections.append(Section("embeddings", "Embeddings"))
                between.append(node)
        self._add_steps(between)
        self._other_layers(side, last)

    def _is_weight_of_layer(self, node: Node) -> bool:
        """Return whether a node changes a weight that a layer reads."""
        above = {path for name in node.reads for path in ancestors(name)}
        return not self._edges.data(node) and bool(above & self._layers.keys())

    def _add_steps(self, nodes: Sequence[Node]) -> None:
        """Add the steps of nodes, with ids before the tables."""
        is_first = self._sections[-1].kind == "embeddings"
        steps = list((self._before if is_first else self._after).steps(nodes))
        tables = {step.name: step for step in reversed(steps)}
        if (table := tables.get(TOKEN_EMBEDDING)) is not None:
            of_target = " of the target" if self._sections[-1].title == TARGET else ""
            note = f"The token ids{of_target}."
            self._add_ids(TOKEN_IDS, table, note, [token.id for token in self._shapes.tokens])
        if (table := tables.get(SEGMENT_EMBEDDING)) is not None:
            rows = [tensor.shape[0] for tensor in self._counter.tensors(table.reads)]
            note = ONE_SEGMENT if rows == [1] else _SEGMENTS
            segments = [token.segment for token in self._shapes.tokens]
            self._add_ids(SEGMENT_IDS, table, note, segments)
        for step in steps:
            self._add_read(step)

    def _add_ids(self, name: str, table: Step, note: str, ids: Sequence[int]) -> None:
        """Add ids that are looked up in a table: ``101 2023 … 102`` of many."""
        words = list(map(str, ids))
        if len(words) > _MAX_IDS:
            words = [*words[: _MAX_IDS - 2], "…", words[-1]]
        self._add(Step(name, output_shape=table.input_shape, note=note, values=" ".join(words)))

    def _add_read(self, step: Step) -> None:
        """Add a step of the graph, with the modules that hold its parameters."""
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
        """Add a step to the last section, and count its uncounted tensors."""
        section = self._sections[-1]
        new = list(filter(self._counter.is_left, tensors))
        outside = (t.numel for t in new if not t.name.startswith(f"{section.path}."))
        expected = section.expected + sum(outside)
        if new:
            inner = self._counted(step.inner, new)
            step = replace(step, count=self._counter.take(new), inner=inner)
        self._sections[-1] = replace(section, steps=(*section.steps, step), expected=expected)

    def _counted(self, steps: Sequence[Step], new: Sequence[TensorInfo]) -> tuple[Step, ...]:
        """Return inner steps with the counts of new tensors; none if these are not all theirs."""
        found, left = list(steps), {tensor.name: tensor for tensor in new}
        for place, step in enumerate(steps):
            own = [t for t in self._counter.tensors(step.reads) if left.pop(t.name, None)]
            if own:
                paths = tuple(dict.fromkeys(tensor.owner for tensor in own))
                found[place] = replace(step, paths=paths, count=self._counter.count(own))
        return () if left else tuple(found)

    def _add_unused(self, below: str = "") -> None:
        for path, tensors in self._counter.unused(below).items():
            paths = self._counter.modules(tensors, path)
            own = ", ".join(tensor.name.rpartition(".")[2] for tensor in tensors)
            name = path.rpartition(".")[2] if paths else own
            self._add(Step(name, paths, path or None, note=UNUSED), tensors)

    def _layer(self, node: Node, layers: EqualLayers, side: str) -> None:
        self._passed.update(node.layers)
        path = layers.paths[0]
        flow, layer = self._flows.flow(path), self._architecture.module(path)
        if path in self._shown or flow is None or layer is None:
            return
        for step in self._after.tables_read(node):
            self._add_read(step)
        title = layers.title.lower().replace("layer", f"{side}layer").capitalize()
        times = len(layers.paths)
        symbols = _times_in_symbols(self._architecture, layer, times)
        self._sections.append(Section("layer", title, (), layer.parameters, path, times, symbols))
        self._seen_inputs |= self._edges.inputs[node.id]
        reader = StepReader(self._architecture, self._shapes, flow, "layer")
        for step in reader.steps(flow.nodes):
            self._add_read(step)
        self._add_unused(path)
        self._shown[path] = self._sections[-1]
        self._waiting.append(layers)

    def _other_layers(self, side: str, last: Node | None) -> None:
        """Add the layers that are equal to those just shown, and start the section after them."""
        passed = [each for each in self._waiting if self._passed.issuperset(each.paths)]
        if last is None or not (passed or self._sections[-1].kind == "layer"):
            return
        self._sections.append(Section("others", f"Other {side}layers"))
        for layers in passed:
            self._waiting.remove(layers)
            section, stored = self._shown[layers.paths[0]], len(layers.paths)
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
        for step in self._after.dropouts(last):
            self._add_read(step)

    def _add_equal(self, section: Section, layers: EqualLayers) -> None:
        """Add the layers that are equal to the one a section shows, in one step."""
        paths = layers.paths[1:]
        taken = self._counter.take(t for path in paths for t in self._counter.below(path))
        pieces = [piece for step in section.steps for piece in step.count.pieces]
        symbols = numbers = ""
        if any(step.count.symbols for step in section.steps):
            times = f"({section.symbols}-1)" if section.symbols.isidentifier() else len(paths)
            symbols = f"{times}*({collected(pieces)})"
        if taken.parameters:
            numbers = f"{len(paths)}*{taken.parameters // len(paths):,}"
        equal = StepCount(taken.parameters, taken.trainable, symbols, numbers)
        step = self._layers_step(section, layers.others_name, paths)
        self._add(replace(step, count=equal, note=_OWN_TENSORS))

    def _layers_step(self, section: Section, name: str, paths: tuple[str, ...]) -> Step:
        """Return a step of whole layers with the shapes of the layer that a section shows."""
        flow = self._flows.flow(section.path)
        ends = [n for n in (flow.nodes if flow else ()) if n.kind in ("input", "output")]
        shapes = [self._shapes.shape(end) for end in ends if is_data(end)] or [None]
        return Step(name, paths, None, shapes[0], shapes[-1], is_layers=True)


def _times_in_symbols(architecture: Architecture, layer: ModuleNode, times: int) -> str:
    """Return the symbols that multiply a layer in the formula of its list, if they do."""
    above = architecture.module(layer.parent or "")
    values = architecture.symbol_values
    for part in Count.read(above.count_formula).parts if above and times > 1 else ():
        if isinstance(part, Count) and part.times.symbols and part.times.at(values) == times:
            return str(part.times)
    return ""
