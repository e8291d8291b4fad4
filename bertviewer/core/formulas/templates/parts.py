"""A module's graph with its children closed: what the module's own code calls, in order."""

from collections.abc import Iterator
from functools import cached_property

from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.graph import ModuleGraph, Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.frozen import frozen


@frozen
class Part:
    """A call of a child, of a member of a child that is a list, or one own operation.

    Attributes:
        path: the child's or member's path; the module's own path for its own operations.
        steps: the steps of the call.
        list_path: of a member the path of the list, else "".
    """

    path: str
    steps: tuple[Step, ...]
    list_path: str = ""

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]

    @property
    def last(self) -> Step:
        """The step that computes the result."""
        return self.steps[-1]

    @property
    def inputs(self) -> tuple[tuple[str | None, Operand], ...]:
        """What is read from outside, each with its role, if it has one."""
        own = {step.node.id for step in self.steps}
        found: dict[tuple[str, tuple[str, ...]], tuple[str | None, Operand]] = {}
        for step in self.steps:
            roles = {operand.node: role for role, operand in step.roles.items()}
            for operand in (*step.operands, *step.roles.values()):
                if operand.node and operand.node not in own:
                    key = operand.node, operand.parts
                    found.setdefault(key, (roles.get(operand.node), operand))
        return tuple(found.values())


@frozen
class Run:
    """Layers of one list that are applied in sequence.

    Attributes:
        path: the list's path.
        parts: the layers' parts; equal layers may be one.
        start: what the first layer is applied to.
        extras: the other tensors that every layer is given, except masks and positions.
        count: how many layers are applied.
        stored: how many layers are stored.
    """

    path: str
    parts: tuple[Part, ...]
    start: Operand
    extras: tuple[Operand, ...]
    count: int
    stored: int

    @property
    def name(self) -> str:
        """The list's name."""
        return self.path.rpartition(".")[2]

    @property
    def last(self) -> Step:
        """The step that computes the last layer's output."""
        return self.parts[-1].last


@frozen(slots=False)
class Parts:
    """The parts of a module's graph, in order of execution."""

    view: ModuleView
    graph: ModuleGraph
    parts: tuple[Part, ...]

    @cached_property
    def by_step(self) -> dict[str, Part]:
        """Each part by the ids of its steps."""
        return {step.node.id: part for part in self.parts for step in part.steps}

    def maker(self, operand: Operand) -> Part | None:
        """Return the part that computes an operand, ``None`` for what is given."""
        return self.by_step.get(operand.node)

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """The runs of layers."""
        return tuple(self._runs())

    def _runs(self) -> Iterator[Run]:
        waiting: list[Part] = []
        for part in self.parts:
            reads_last = bool(waiting) and _reads(part, waiting[-1])
            if part.list_path and waiting and part.list_path == waiting[-1].list_path:
                if not reads_last:
                    yield from self._run(waiting)
                    waiting = []
                waiting.append(part)
            elif part.list_path or reads_last:
                yield from self._run(waiting)
                waiting = [part] if part.list_path else []
        yield from self._run(waiting)

    def _run(self, parts: list[Part]) -> Iterator[Run]:
        given = self.graph.given
        tensors = [
            operand
            for role, operand in (parts[0].inputs if parts else ())
            if role in (None, "residual")
            and (operand.node not in given or given[operand.node].kind == "input")
        ]
        if not tensors:
            return
        start, *others = tensors
        repeats = [part.steps[0].node.repeat for part in parts if len(part.steps) == 1]
        members = {part.path for part in parts}
        for repeat in repeats:
            if repeat is not None:
                members |= {
                    f"{parts[0].list_path}.{number}"
                    for number in range(repeat.first, repeat.last + 1)
                }
        count = sum(
            repeat.count
            if len(part.steps) == 1 and (repeat := part.steps[0].node.repeat) is not None
            else 1
            for part in parts
        )
        extras = tuple(o for o in others if self._is_extra(o, parts[0].list_path, start))
        yield Run(parts[0].list_path, tuple(parts), start, extras, count, len(members))

    def _is_extra(self, operand: Operand, path: str, start: Operand) -> bool:
        """Return whether an operand is a tensor that matters to a reader of the stack."""
        if operand.node == start.node:
            return False
        step = self.graph.maker(operand)
        if step is None:
            node = self.graph.given[operand.node]
            return len(node.shape) == 3
        return not any(name.startswith(f"{path}.") for name in _parameters(self.graph, step))


def _reads(part: Part, before: Part) -> bool:
    made = {step.node.id for step in before.steps}
    return any(operand.node in made for _, operand in part.inputs)


def _parameters(graph: ModuleGraph, step: Step) -> Iterator[str]:
    """Yield the parameters that a step of plain operations on parameters reads."""
    for operand in step.operands:
        given = graph.given.get(operand.node)
        if given is not None and given.kind == "parameter":
            yield given.path or ""
        if operand.parameter:
            yield operand.parameter


def parts_of(view: ModuleView) -> Parts | None:
    """Return the parts of a module's graph, ``None`` if it has none."""
    graph = view.graph
    if graph is None:
        return None
    owners = {step.node.id: _owner(step, view) for step in graph.steps}
    # A child of which steps are shown is one part, with its own operations.
    opened = {
        owners[step.node.id][0] for step in graph.steps if step.node.path != owners[step.node.id][0]
    }
    members: dict[str, list[Step]] = {}
    found: dict[str, tuple[str, str]] = {}
    for step in graph.steps:
        path, list_path = owners[step.node.id]
        key = path if path and path in opened else step.node.id
        found.setdefault(key, (path or view.node.path, list_path))
        members.setdefault(key, []).append(step)
    parts = (Part(path, tuple(members[key]), where) for key, (path, where) in found.items())
    return Parts(view, graph, tuple(parts))


def _owner(step: Step, view: ModuleView) -> tuple[str, str]:
    """Return the child, or member of a list, that a step belongs to, and the list's path."""
    start = f"{view.node.path}." if view.node.path else ""
    path = step.node.path or ""
    if not path.startswith(start) or path == view.node.path:
        return "", ""
    name, *rest = path.removeprefix(start).split(".")
    owner, list_path = f"{start}{name}", ""
    for part in rest:
        if not part.isdigit():
            break
        owner, list_path = f"{owner}.{part}", owner
    is_operation = path == owner and bool(step.operation)
    return owner, "" if is_operation else list_path


_IN_LAYERS = ("residual", "attention")


def has_layers(view: ModuleView | None) -> bool:
    """Return whether a module applies a list of layers, itself or in a child."""
    if view is None:
        return False
    parts = parts_of(view)
    if parts is None:  # it is not called itself
        return any(has_layers(view.at(child.path)) for child in view.children.values())
    if any(is_stack(parts, run) for run in parts.runs):
        return True
    paths = {part.path for part in parts.parts} - {view.node.path}
    return any(has_layers(view.at(path)) for path in paths if not path.rpartition(".")[2].isdigit())


def is_stack(parts: Parts, run: Run) -> bool:
    """Return whether a run is of whole layers: not of convolutions, nor of one layer's parts."""
    if len(run.parts) > 1 and any(len(part.steps) > 1 for part in run.parts):
        return False
    flows = parts.view.architecture.flows
    first = run.parts[0].path
    paths = [
        n.path for n in parts.view.architecture.modules if f"{n.path}.".startswith(f"{first}.")
    ]
    found = (None if flows is None else flows.flow(path) for path in paths)
    return any(node.operation in _IN_LAYERS for flow in found if flow for node in flow.all_nodes())


def layered(parts: Parts) -> tuple[Part, ...]:
    """Return the children that apply layers."""
    found = {}
    for part in parts.parts:
        if part.path != parts.view.node.path and not part.list_path and part.path not in found:
            found[part.path] = part if has_layers(parts.view.at(part.path)) else None
    return tuple(part for part in found.values() if part is not None)
