"""Module trees as plain data: counts, repeated layers, and trees from tensor names alone."""

from collections.abc import Mapping, Sequence

from bertviewer.core.checkpoints.stored import TORCH_NAMES, Checkpoint
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.costs import Costs
from bertviewer.core.schema.modules import ModuleNode, Repeat, TensorInfo, ancestors
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.serialization import Scalar
from bertviewer.core.util.text import shown_name

ROOT_CLASS, MODULE_CLASS = "Checkpoint", "Module"
"""Class names in a tree from tensor names."""
MAX_TENSORS = 100_000
MAX_PARTS = 40  # of a tensor's name, between dots
MAX_DIGITS = 6  # of a part that is a number


class NodeBuilder:
    """Builds the ``ModuleNode`` of a module.

    A module that is registered in several places has one builder, and belongs to the first place:
    its parameters count there only.
    """

    __slots__ = ("attributes", "children", "class_module", "class_name", "extra_repr", "own",
                 "parameters", "path", "repeat", "signature", "trainable")  # fmt: skip

    def __init__(
        self,
        path: str,
        class_name: str,
        class_module: str = "",
        attributes: Mapping[str, Scalar] | None = None,
        extra_repr: str = "",
    ) -> None:
        self.path = path
        self.class_name = class_name
        self.class_module = class_module
        self.attributes = attributes or {}
        self.extra_repr = extra_repr
        self.children: list[tuple[str, NodeBuilder]] = []
        self.parameters = self.own = self.trainable = 0
        self.repeat: Repeat | None = None
        self.signature = -1

    def child_path(self, name: str) -> str:
        """Return the path of a child."""
        return f"{self.path}.{name}" if self.path else name

    def finish(
        self,
        tensors: Sequence[TensorInfo],
        signatures: dict[object, int],
        details: object = None,
    ) -> None:
        """Count parameters and find repeats, once all children are finished.

        Args:
            tensors: the module's own.
            signatures: numbers of structures; modules with equal signatures are equal, with all
                modules and tensors in them.
            details: other values that differ if the structure differs.
        """
        for tensor in tensors:
            if tensor.tied_to is None:
                self.own += tensor.numel
                self.trainable += tensor.numel if tensor.trainable else 0
        self.parameters = self.own
        for name, child in self.children:
            if child.path == self.child_path(name):
                self.parameters += child.parameters
                self.trainable += child.trainable
        structure = (
            details,
            tuple((t.name.rpartition(".")[2], t.shape, t.dtype, t.trainable) for t in tensors),
            tuple((name, child.signature) for name, child in self.children),
        )
        self.signature = signatures.setdefault(structure, len(signatures))
        self._find_repeats()

    def _find_repeats(self) -> None:
        """Set ``repeat`` of two or more equal children whose names are consecutive numbers."""
        run: list[tuple[int, str, NodeBuilder]] = []
        for name, child in (*self.children, ("", None)):
            number = _number(name)
            if child is not None and run and number is not None:
                last, _, before = run[-1]
                if number == last + 1 and child.signature == before.signature:
                    run.append((number, name, child))
                    continue
            if len(run) > 1:
                repeat = Repeat(run[0][0], run[-1][0], len(run))
                for _, member_name, member in run:
                    if member.path == self.child_path(member_name):
                        member.repeat = repeat
            run = [(number, name, child)] if child is not None and number is not None else []

    def node(self, total: int) -> ModuleNode:
        """Return the module as plain data, in a model of ``total`` parameters."""
        return ModuleNode(
            path=self.path,
            class_name=self.class_name,
            depth=self.path.count(".") + 1 if self.path else 0,
            parameters=self.parameters,
            own_parameters=self.own,
            trainable=self.trainable,
            share=self.parameters / total if total else 0.0,
            repeat=self.repeat,
            attributes=self.attributes,
            count_formula=str(self.parameters),
            forward_formula=None,
            class_module=self.class_module,
            extra_repr=self.extra_repr,
        )


def structure_from_names(checkpoint: Checkpoint, source: SourceInfo) -> Architecture:
    """Return the modules that the dots in a checkpoint's tensor names imply.

    Every tensor counts; those of integers are not trainable. Modules are sorted by name, numbers
    by value.

    Raises:
        UserError: there are too many tensors, or a name has too many parts.
    """
    if len(checkpoint.tensors) > MAX_TENSORS:
        raise UserError(
            f"{source.name}: {len(checkpoint.tensors):,} tensors are too many to display"
        )
    tensors: list[TensorInfo] = []
    own: dict[str, list[TensorInfo]] = {}
    children: dict[str, dict[str, None]] = {}
    for name in sorted(checkpoint.tensors, key=_sort_key):
        if name.count(".") > MAX_PARTS:
            raise UserError(f"{source.name}: {shown_name(name)} has too many levels")
        stored = checkpoint.tensors[name]
        dtype = TORCH_NAMES[stored.dtype]
        is_trainable = "float" in dtype or "complex" in dtype
        tensor = TensorInfo(name, stored.shape, dtype, is_trainable)
        tensors.append(tensor)
        own.setdefault(tensor.owner, []).append(tensor)
        for path in ancestors(tensor.owner):
            if path:
                children.setdefault(path.rpartition(".")[0], {})[path] = None
    builders: list[NodeBuilder] = []
    signatures: dict[object, int] = {}

    def walk(path: str) -> NodeBuilder:
        builder = NodeBuilder(path, MODULE_CLASS if path else ROOT_CLASS)
        builders.append(builder)
        for child in children.get(path, ()):
            builder.children.append((child[len(path) + 1 :] if path else child, walk(child)))
        builder.finish(own.get(path, ()), signatures)
        return builder

    total = walk("").parameters
    nodes = tuple(builder.node(total) for builder in builders)
    costs = Costs((), {}, (), reason="the model's computation is unknown")
    return Architecture(source, {}, (), nodes, tuple(tensors), costs)


def _number(name: str) -> int | None:
    """Return the number that a name consists of, without leading zeros; ``None`` for others."""
    is_number = name.isascii() and name.isdigit() and len(name) <= MAX_DIGITS
    return int(name) if is_number and name == str(int(name)) else None


def _sort_key(name: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts numbers by value, and before words."""
    return [
        (0, int(part), "")
        if part.isascii() and part.isdigit() and len(part) <= MAX_DIGITS
        else (1, 0, part)
        for part in name.split(".")
    ]
