"""Builds a model's walkthrough from the flow of the whole model, in execution order."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.architecture.architecture import Architecture, ancestors
from bertviewer.core.architecture.flow import Flow, Node
from bertviewer.core.architecture.flows import Flows
from bertviewer.core.architecture.module_node import ModuleNode
from bertviewer.core.architecture.tensor_info import TensorInfo
from bertviewer.core.expressions.evaluation import FormulaError, evaluate, letters_of
from bertviewer.core.frozen import frozen
from bertviewer.core.walkthrough.attention import BLOCKS
from bertviewer.core.walkthrough.counter import TensorCounter
from bertviewer.core.walkthrough.edges import ENDS, FlowEdges, is_data
from bertviewer.core.walkthrough.module_flows import module_flows
from bertviewer.core.walkthrough.pieces import collected, has_symbols
from bertviewer.core.walkthrough.shapes import ShapeReader
from bertviewer.core.walkthrough.steps import (
    SEGMENT_EMBEDDING,
    TOKEN_EMBEDDING,
    Place,
    StepReader,
    common_path,
)
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
_LAST_NORM = "Normalises the sum that the last layer leaves unnormalised."
_MOST_IDS = 10


@frozen
class _EqualLayers:
    """Layers of one list that compute the same with tensors of their own.

    Attributes:
        paths: the layers; the first is shown.
        calls: how often one of them is called in all.
        title: the title of the section that shows the first, without the side of the model.
        suffix: what tells the others from other layers of the list.
    """

    paths: tuple[str, ...]
    calls: int
    title: str
    suffix: str


def build_walkthrough(architecture: Architecture, run: ActivationRun | None = None) -> Walkthrough:
    """Return the walkthrough of a model; without its data flow, modules in the order of the tree.

    Args:
        architecture: the model; counts in symbols are given where they are derived already.
        run: its last run, for the ids of its inputs and for the lengths in shapes.
    """
    flows = architecture.flows
    flow = None if flows is None else flows.flow("")
    if flows is not None and flow is not None:
        sections = _Builder(architecture, run, flows, flow).build()
        return Walkthrough(sections, architecture.root.parameters)
    flows = module_flows(architecture)
    sections = _Builder(replace(architecture, flows=flows), run, flows, flows.distinct[""]).build()
    # Of a checkpoint without a configuration only the names are known.
    title = "Embeddings" if "model_type" in architecture.config else "Modules by name"
    return Walkthrough(
        tuple(
            replace(
                section,
                title=title if section.kind == "embeddings" else section.title,
                steps=tuple(replace(step, flow=None, nodes=()) for step in section.steps),
                is_executed=False,
            )
            for section in sections
        ),
        architecture.root.parameters,
    )


class _Builder:
    """Goes through the flow of the whole model once, and counts each tensor once."""

    def __init__(
        self, architecture: Architecture, run: ActivationRun | None, flows: Flows, flow: Flow
    ) -> None:
        self._architecture, self._flows, self._edges = architecture, flows, FlowEdges(flow)
        self._nodes = {node.path: node for node in architecture.modules}
        self._nodes_in_order = _with_single_layers(flows, flow.nodes)
        self._layers = _equal_layers(architecture, flows, self._nodes_in_order)
        self._counter = TensorCounter(architecture)
        self._shapes = ShapeReader(architecture, run)
        self._sections = [Section("embeddings", "Embeddings")]
        self._seen_inputs: set[str] = set()
        self._passed: set[str] = set()
        self._waiting: list[_EqualLayers] = []
        self._last_layer: Node | None = None
        self._ends_unnormed = False

    def _done(self) -> tuple[Section, ...]:
        """Return the sections that have steps, with all steps numbered."""
        for at in self._counter.unused().items():
            self._add_unused(*at)
        found: list[Section] = []
        number = 1
        for section in self._sections:
            steps = tuple(replace(s, number=at) for at, s in enumerate(section.steps, number))
            number += len(steps)
            found += [replace(section, steps=steps)] if steps else []
        return tuple(found)

    def _add(self, step: Step, tensors: Iterable[TensorInfo] = ()) -> None:
        """Add a step to the last section, and count those of its tensors that are not yet."""
        within = f"{self._sections[-1].path}."
        new = [tensor for tensor in tensors if not self._counter.is_counted(tensor.name)]
        outside = sum(tensor.numel for tensor in new if not tensor.name.startswith(within))
        self._append(replace(step, count=self._counter.take(new)), outside)

    def _append(self, step: Step, expected: int) -> None:
        """Add a counted step to the last section, whose modules have so many parameters more."""
        section = self._sections[-1]
        expected += section.expected
        self._sections[-1] = replace(section, steps=(*section.steps, step), expected=expected)

    def _add_unused(self, path: str, tensors: Sequence[TensorInfo]) -> None:
        paths = self._counter.modules(tensors, path)
        own = ", ".join(tensor.name.rpartition(".")[2] for tensor in tensors)
        name = self._nodes[path].name if paths else own
        self._add(Step(name, paths, path or None, note=UNUSED), tensors)

    def _add_equal(self, section: Section, paths: tuple[str, ...], suffix: str) -> None:
        """Add the layers that are equal to the one a section shows, in one step."""
        pieces = tuple(chain.from_iterable(step.count.pieces for step in section.steps))
        taken = self._counter.take(chain.from_iterable(map(self._counter.below, paths)))
        symbols = numbers = ""
        if has_symbols(pieces):
            is_letter = section.symbols.isidentifier()
            times = f"({section.symbols}-1)" if is_letter else str(len(paths))
            symbols = f"{times}*({collected(pieces)})"
        if taken.parameters:
            numbers = f"{len(paths)}*{self._nodes[paths[0]].parameters:,}"
        first, last = (int(paths[at].rpartition(".")[2]) for at in (0, -1))
        text = f"Layers {first}–{last}" if len(paths) > 1 else f"Layer {first}"
        if last - first != len(paths) - 1:
            text = f"{len(paths)} other layers"
        count = StepCount(taken.parameters, taken.trainable, symbols, numbers)
        step = self._layers_step(section, text + suffix, paths, _OWN_TENSORS)
        self._append(replace(step, count=count), taken.parameters)

    def _layers_step(self, section: Section, name: str, paths: tuple[str, ...], note: str) -> Step:
        """Return a step of whole layers with the shapes of the layer that a section shows."""
        flow = self._flows.flow(section.path)
        nodes = [n for n in flow.nodes if n.kind in ("input", "output")] if flow else []
        ends = [node for node in nodes if is_data(node)]
        shapes = [self._shapes.shape(end) for end in ends]
        before, after = (shapes[0], shapes[-1]) if shapes else (None, None)
        return Step(name, paths, None, before, after, note=note, is_layers=True)

    def build(self) -> tuple[Section, ...]:
        """Return the sections, those of a decoder after those of its encoder."""
        target = _decoder_side(self._edges)
        source = [node for node in self._nodes_in_order if node.id not in target]
        self._side("encoder" if target else "", source)
        if target:
            self._shapes.turn_to_target()
            self._sections.append(Section("embeddings", TARGET))
            self._side("decoder", [node for node in self._nodes_in_order if node.id in target])
        if self._sections[-1].kind == "layer":
            self._sections.append(Section("rest", "After the layers"))
        return self._done()

    def _side(self, side: str, nodes: Sequence[Node]) -> None:
        """Add the layers of one side of the model, and what is before, between and after them."""
        between: list[Node] = []
        for node in nodes:
            layers = self._layers.get(node.path or "") if node.is_layer else None
            if layers is not None:
                self._between(between, side)
                between = []
                self._layer(node, layers, side)
            elif node.kind not in ENDS and not self._is_rescaled_weight(node):
                between.append(node)
        self._between(between, side)
        self._other_layers(side)

    def _between(self, nodes: Sequence[Node], side: str) -> None:
        """Add the steps of nodes before, between or after layers."""
        if nodes:
            self._other_layers(side)
        here: list[Node] = []
        for node in nodes:
            # Another text or image has its own embeddings, after the layers of the first one.
            inputs = self._edges.inputs_of(node)
            is_new = bool(inputs) and not inputs & self._seen_inputs
            if is_new and self._layers and self._sections[-1].kind == "rest":
                self._add_steps(here)
                here = []
                self._sections.append(Section("embeddings", "Embeddings"))
            self._seen_inputs |= inputs
            here.append(node)
        self._add_steps(here)

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
        """Add a step of the flow with the modules that hold just what it reads."""
        counter, path, note = self._counter, step.module, step.note
        tensors = counter.tensors(step.reads)
        is_new = any(not counter.is_counted(tensor.name) for tensor in tensors)
        names = {tensor.name for tensor in tensors if counter.is_counted(tensor.name)}
        below = () if path is None else self._architecture.tensors_below(path)
        tied = next((t.tied_to for t in below if t.tied_to in names), None)
        if step.name in (TOKEN_EMBEDDING, SEGMENT_EMBEDDING) and not is_new:
            note = SHARED
        elif tied:
            note = _tied_note(tied)
        elif step.name == "Norm" and self._ends_unnormed and self._sections[-1].kind == "rest":
            note = _LAST_NORM
        is_outermost = step.name in ("Pooler", "Head") and is_new
        paths = counter.modules(tensors, None if is_outermost else path)
        module = paths[0] if is_outermost and paths else path or None
        self._add(replace(step, paths=paths, module=module, note=note), tensors)
        self._ends_unnormed = self._ends_unnormed and step.name == "Dropout"

    def _layer(self, node: Node, layers: _EqualLayers, side: str) -> None:
        """Show the first of equal layers in its own section."""
        self._last_layer = node
        path = node.path or ""
        flow = self._flows.flow(path)
        is_shown = layers.paths[0] in self._passed
        self._passed.update(node.layers)
        if is_shown or flow is None:
            return
        for step in self._reader(self._edges, "rest").tables_read(node, node):
            self._add_read(step)
        title = layers.title if not side else layers.title.lower().replace("layer", f"{side} layer")
        layer, times = self._nodes[path], len(layers.paths)
        symbols = _times_in_symbols(self._architecture, layer, times)
        section = Section("layer", title.capitalize(), (), layer.parameters, path, times, symbols)
        self._sections.append(section)
        self._seen_inputs |= self._edges.inputs_of(node)
        for step in self._reader(FlowEdges(flow), "layer").steps(flow.nodes):
            self._add_read(step)
        for unused in self._counter.unused(path).items():
            self._add_unused(*unused)
        last = [each for each in flow.nodes if each.kind not in ("output", "constant")][-1:]
        self._ends_unnormed = any(each.operation == "residual" for each in last)
        self._waiting.append(layers)

    def _other_layers(self, side: str) -> None:
        """Add the layers that are equal to those shown, and start the section after them."""
        passed = [each for each in self._waiting if self._passed.issuperset(each.paths)]
        self._waiting = [each for each in self._waiting if each not in passed]
        shown = {section.path: section for section in self._sections}
        has_others = any(len(each.paths) > 1 or each.calls > 1 for each in passed)
        if has_others or self._sections[-1].kind == "layer":
            self._sections.append(Section("others", f"Other {side} layers".replace("  ", " ")))
        for layers in passed:
            section, stored = shown[layers.paths[0]], len(layers.paths)
            if stored > 1:
                self._add_equal(section, layers.paths[1:], layers.suffix)
            if layers.calls > stored:
                times = layers.calls // stored - 1
                often = "once more" if times == 1 else f"{times} more times"
                name = f"The same {'layer' if stored == 1 else f'{stored} layers'}, {often}"
                note = (
                    f"Each layer is stored once; in total, layers are applied {layers.calls} times."
                )
                if stored == 1:
                    note = f"The layer is stored once and applied {layers.calls} times."
                step = self._layers_step(section, name, layers.paths, note)
                flow = self._flows.flow(section.path)
                nodes = [node for node in flow.nodes if node.kind not in ENDS] if flow else []
                module = common_path(node.path for node in nodes) or None
                self._append(replace(step, module=module), 0)
        if self._sections[-1].kind == "others":
            title = f"After the {side} layers".replace("  ", " ")
            self._sections.append(Section("rest", title))
        if self._last_layer is not None:
            for step in self._reader(self._edges, "rest").dropouts(self._last_layer):
                self._add_read(step)
            self._last_layer = None

    def _is_rescaled_weight(self, node: Node) -> bool:
        """Return whether a node changes a weight that a layer reads, and so is a part of that."""
        owners = [name.split(".") for name in node.reads]
        above = {".".join(names[:at]) for names in owners for at in range(len(names))}
        return not self._edges.data(node) and bool(above & self._layers.keys())

    def _reader(self, edges: FlowEdges, place: Place) -> StepReader:
        return StepReader(self._architecture, self._shapes, edges, place)


def _with_single_layers(flows: Flows, nodes: Sequence[Node]) -> list[Node]:
    """Return a model's nodes with those of a layer that is alone in its list as one closed node."""
    found: list[Node] = []
    for node in nodes:
        path = None if node.is_layer else _layer_around(flows, node)
        if path is None:
            found.append(node)
        elif found and found[-1].path == path:
            found[-1] = replace(found[-1], id=node.id, shape=node.shape)  # its result is the last's
        else:
            name = " ".join(path.split(".")[-2:])
            found.append(replace(node, kind="module", name=name, path=path, operation=None))
    return found


def _layer_around(flows: Flows, node: Node) -> str | None:
    """Return the outermost module of a list around a node that has blocks as a layer has."""
    if node.kind in ENDS:
        return None
    for path in reversed(list(ancestors(node.path or ""))):
        is_numbered = "." in path and path.rpartition(".")[2].isdecimal()
        flow = flows.flow(path) if is_numbered else None
        if flow is not None and any(each.operation in BLOCKS for each in flow.nodes):
            return path
    return None


def _equal_layers(
    architecture: Architecture, flows: Flows, nodes: Iterable[Node]
) -> dict[str, _EqualLayers]:
    """Return the layers of a model by the path of each; equal ones of a list are one."""
    calls: dict[str, int] = {}
    for node in nodes:
        for path in node.layers if node.is_layer else ():
            count = 1 if node.repeat is None else max(1, node.repeat.count // len(node.layers))
            calls[path] = calls.get(path, 0) + count
    parameters = {node.path: node.parameters for node in architecture.modules}
    lists: dict[str, dict[tuple[str, int], list[str]]] = {}
    for path in calls:
        kinds = lists.setdefault(path.rpartition(".")[0], {})
        kinds.setdefault((flows.like.get(path, path), parameters.get(path, 0)), []).append(path)
    found: dict[str, _EqualLayers] = {}
    for kinds in lists.values():
        is_repeated = {paths[0]: len(paths) > 1 or calls[paths[0]] > 1 for paths in kinds.values()}
        is_alone = sum(is_repeated.values()) < 2
        for first, *others in kinds.values():
            number = first.rpartition(".")[2]
            is_one = is_alone and (is_repeated[first] or len(is_repeated) == 1)
            title = "One layer" if is_one else f"Layer {number}"
            suffix = "" if is_alone else f", like layer {number}"
            times = sum(calls[path] for path in (first, *others))
            equal = _EqualLayers((first, *others), times, title, suffix)
            found |= dict.fromkeys(equal.paths, equal)
    return found


def _decoder_side(edges: FlowEdges) -> set[str]:
    """Return the ids of the nodes that depend on the decoder's inputs of an encoder-decoder."""
    nodes = edges.flow.nodes
    inputs = {node.id for node in nodes if node.kind == "input"}
    given = {node.id for node in nodes if node.id in inputs and node.name.startswith("decoder ")}
    found = {node.id for node in nodes if given & edges.inputs_of(node)}
    for node in reversed(nodes):  # and what is computed for it alone, as the positions
        users = [user.id for user in edges.users(node)]
        if users and found.issuperset(users) and not edges.ancestors(node) & inputs:
            found.add(node.id)
    return found


def _times_in_symbols(architecture: Architecture, layer: ModuleNode, times: int) -> str:
    """Return the symbols that multiply a layer in the formula of its list, if they do."""
    above = next((node for node in architecture.modules if node.path == layer.parent), None)
    if above is None or times < 2:
        return ""
    values = {symbol.letter: symbol.value for symbol in architecture.symbols}
    try:
        letters = letters_of(above.count_formula) - letters_of(layer.count_formula)
        product = "*".join(sorted(letters))
        return product if product and evaluate(product, values) == times else ""
    except FormulaError:
        return ""


def _tied_note(name: str) -> str:
    return f"Tied to {name} and counted there."


def _shortened(ids: Iterable[int]) -> str:
    """Return ``101 2023 … 102`` for a long list, all of a short one."""
    words = list(map(str, ids))
    if len(words) > _MOST_IDS:
        words = [*words[: _MOST_IDS - 2], "…", words[-1]]
    return " ".join(words)
