"""The structure of a model from its tensors' names alone, where nothing else is known of it."""

from collections.abc import Iterable
from typing import Any

from bertviewer.core.checkpoints.header import shown_name
from bertviewer.core.checkpoints.stored import TORCH_NAMES, Checkpoint, StoredTensor
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.costs import Costs
from bertviewer.core.schema.modules import ModuleNode, Repeat, TensorInfo, ancestors
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.util.errors import UserError

ROOT_CLASS = "Checkpoint"
MODULE_CLASS = "Module"
"""Names do not tell classes."""
MAX_TENSORS = 100_000
MAX_PARTS = 40
MAX_NUMBER_DIGITS = 6


def why_not_run(name: str) -> str:
    """Return the line that says why a structure of mere names cannot be run."""
    return (
        f"{name} cannot be run: it has no config.json with a model_type that transformers knows, "
        "and the names and shapes of its tensors do not identify the model"
    )


def structure(checkpoint: Checkpoint, source: SourceInfo) -> Architecture:
    """Return modules and tensors as the dots in the tensors' names arrange them.

    Every tensor counts, those of whole numbers too; these alone are not trainable. Modules stand
    in the order of their names, numbers by their value. Equal neighbours with consecutive numbers
    are repeats of one another, as layers are.

    Raises:
        UserError: there are too many tensors, or a name has too many levels.
    """
    if len(checkpoint.tensors) > MAX_TENSORS:
        raise UserError(
            f"{source.name}: {len(checkpoint.tensors):,} tensors are too many to display"
        )
    tensors = tuple(
        _tensor(checkpoint.tensors[name]) for name in sorted(checkpoint.tensors, key=_order)
    )
    root = _Branch("")
    branches = {"": root}
    for tensor in tensors:
        if tensor.name.count(".") > MAX_PARTS:
            raise UserError(f"{source.name}: {shown_name(tensor.name)} has too many levels")
        if tensor.owner not in branches:
            for path in reversed(list(ancestors(tensor.owner))):
                if path not in branches:
                    branches[path] = branches[path.rpartition(".")[0]].add(path)
        branches[tensor.owner].tensors.append(tensor)
    # Parents were made before what is in them, so from the end on children come first.
    numbers: dict[Any, int] = {}
    for branch in reversed(branches.values()):
        branch.add_up()
        branch.signature = numbers.setdefault(branch.form, len(numbers))
    for branch in branches.values():
        _find_repeats(branch)
    nodes = tuple(_node(branch, root.parameters) for branch in root.walk())
    costs = Costs((), {}, (), reason="the model's computation is unknown")
    return Architecture(source, {}, (), nodes, tensors, costs)


class _Branch:
    """A module while the names are sorted into the tree."""

    __slots__ = ("children", "own", "parameters", "path", "repeat", "signature", "tensors",
                 "trainable")  # fmt: skip

    def __init__(self, path: str) -> None:
        self.path = path
        self.children: list[_Branch] = []
        self.tensors: list[TensorInfo] = []
        self.parameters = self.own = self.trainable = 0
        self.repeat: Repeat | None = None
        self.signature = 0

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def number(self) -> int | None:
        """The name as a number, as layers have it."""
        name = self.name
        is_number = name.isascii() and name.isdigit() and len(name) <= MAX_NUMBER_DIGITS
        return int(name) if is_number and name == str(int(name)) else None

    def add(self, path: str) -> "_Branch":
        child = _Branch(path)
        self.children.append(child)
        return child

    @property
    def form(self) -> Any:
        """What is equal for two modules of the same structure; children need their signatures."""
        own = tuple((t.name.rpartition(".")[2], t.shape, t.dtype) for t in self.tensors)
        return own, tuple((child.name, child.signature) for child in self.children)

    def add_up(self) -> None:
        self.own = sum(t.numel for t in self.tensors)
        self.parameters = self.own + sum(child.parameters for child in self.children)
        self.trainable = sum(t.numel for t in self.tensors if t.trainable) + sum(
            child.trainable for child in self.children
        )

    def walk(self) -> Iterable["_Branch"]:
        yield self
        for child in self.children:
            yield from child.walk()


def _tensor(stored: StoredTensor) -> TensorInfo:
    dtype = TORCH_NAMES[stored.dtype]
    # Whole numbers are positions and the like; no training changes them.
    return TensorInfo(
        stored.name, stored.shape, dtype, any(k in dtype for k in ("float", "complex"))
    )


def _order(name: str) -> list[tuple[int, int, str]]:
    """Sort numbers by their value and before words; ``layer.2`` stands before ``layer.10``."""
    return [
        (0, int(part), "")
        if part.isascii() and part.isdigit() and len(part) <= MAX_NUMBER_DIGITS
        else (1, 0, part)
        for part in name.split(".")
    ]


def _find_repeats(parent: _Branch) -> None:
    run: list[_Branch] = []
    for child in [*parent.children, None]:
        number = None if child is None else child.number
        if child is not None and run and number is not None:
            last = run[-1]
            if number == (last.number or 0) + 1 and child.signature == last.signature:
                run.append(child)
                continue
        if len(run) > 1:
            repeat = Repeat(run[0].number or 0, run[-1].number or 0, len(run))
            for member in run:
                member.repeat = repeat
        run = [child] if child is not None and number is not None else []


def _node(branch: _Branch, total: int) -> ModuleNode:
    return ModuleNode(
        path=branch.path,
        class_name=MODULE_CLASS if branch.path else ROOT_CLASS,
        depth=branch.path.count(".") + 1 if branch.path else 0,
        parameters=branch.parameters,
        own_parameters=branch.own,
        trainable=branch.trainable,
        share=branch.parameters / total if total else 0.0,
        repeat=branch.repeat,
        attributes={},
        count_formula=str(branch.parameters),
        forward_formula=None,
    )
