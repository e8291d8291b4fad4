"""Module to ``Architecture``: reads off every module and tensor of a built model."""

from collections.abc import Iterator, Mapping
from typing import Any

from torch import nn

from bertviewer.core.expressions.symbols import symbols_of
from bertviewer.core.formulas.catalogue import with_formulas
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode, Repeat, TensorInfo
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.util.memory import gc_paused
from bertviewer.core.util.serialization import Scalar

_SCALARS = (str, int, float, type(None))
_NOT_ITS_OWN = frozenset({*vars(nn.Module()), "call_super_init", "dump_patches"})
"""What torch gives every module."""


@gc_paused()
def inspect_module(
    module: nn.Module,
    source: SourceInfo,
    config: Mapping[str, Any],
    unused: Mapping[str, Any] | None = None,
) -> Architecture:
    """Return the structure of ``module``; counting formulas are plain numbers until derived.

    ``unused`` are other keys of the configuration, which it does not read: they have no symbols.
    """
    tensors = tuple(_tensors(module))
    parts = _parts(module, tensors)
    total = parts[0].parameters
    plain = Architecture(
        source,
        config,
        symbols_of(config),
        tuple(part.node(total) for part in parts),
        tensors,
        unused=unused or {},
    )
    return with_formulas(plain)


def _tensors(module: nn.Module) -> Iterator[TensorInfo]:
    first_names: dict[int, str] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        first = first_names.setdefault(id(parameter), name)
        yield TensorInfo(
            name=name,
            shape=tuple(parameter.shape),
            dtype=str(parameter.dtype).removeprefix("torch."),
            trainable=parameter.requires_grad,
            tied_to=None if first == name else first,
        )


class _Part:
    """A module while the model is walked through.

    ``children`` are named as the module names them; one that stands in several places is the same
    part in each, and belongs where it is met first. Equal signatures stand for equal structures.
    """

    __slots__ = ("attributes", "children", "class_", "own", "parameters", "path", "repeat",
                 "signature", "trainable")  # fmt: skip

    def __init__(self, path: str, module: nn.Module) -> None:
        self.path = path
        self.class_ = type(module)
        self.attributes = _attributes(module)
        self.children: list[tuple[str, _Part]] = []
        self.parameters = self.own = self.trainable = 0
        self.repeat: Repeat | None = None
        self.signature = -1

    def below(self, name: str) -> str:
        """Return the path of a child."""
        return f"{self.path}.{name}" if self.path else name

    def count(self, tensors: list[TensorInfo]) -> None:
        """Add up what is in its own tensors, and in the children that belong here."""
        for tensor in tensors:
            if tensor.tied_to is None:
                numel = tensor.numel
                self.own += numel
                self.trainable += numel if tensor.trainable else 0
        self.parameters = self.own
        for name, child in self.children:
            if child.path == self.below(name):
                self.parameters += child.parameters
                self.trainable += child.trainable

    def find_repeats(self) -> None:
        """Find the runs of equal children with consecutive numbers for names, two or more long."""
        run: list[tuple[str, _Part]] = []
        for name, child in (*self.children, ("", None)):
            if child is not None and run and name.isdecimal():
                last, before = run[-1]
                if int(name) == int(last) + 1 and child.signature == before.signature:
                    run.append((name, child))
                    continue
            if len(run) > 1:
                repeat = Repeat(int(run[0][0]), int(run[-1][0]), len(run))
                for number, member in run:
                    if member.path == self.below(number):
                        member.repeat = repeat
            run = [(name, child)] if child is not None and name.isdecimal() else []

    def node(self, total: int) -> ModuleNode:
        """Return the module as plain data, in a model of ``total`` elements."""
        return ModuleNode(
            path=self.path,
            class_name=self.class_.__name__,
            depth=self.path.count(".") + 1 if self.path else 0,
            parameters=self.parameters,
            own_parameters=self.own,
            trainable=self.trainable,
            share=self.parameters / total if total else 0.0,
            repeat=self.repeat,
            attributes=self.attributes,
            count_formula=str(self.parameters),
            forward_formula=None,
            class_module=self.class_.__module__,
        )


def _parts(module: nn.Module, tensors: tuple[TensorInfo, ...]) -> list[_Part]:
    """Walk through all modules once, in the order of ``named_modules()``."""
    own: dict[str, list[TensorInfo]] = {}
    for tensor in tensors:
        own.setdefault(tensor.owner, []).append(tensor)
    parts: dict[int, _Part] = {}
    signatures: dict[object, int] = {}

    def walk(module: nn.Module, path: str) -> _Part:
        part = parts[id(module)] = _Part(path, module)
        for name, child in module.named_children():
            part.children.append((name, parts.get(id(child)) or walk(child, part.below(name))))
        its_own = own.get(path, [])
        part.count(its_own)
        structure = (
            part.class_,
            module.extra_repr(),
            tuple((t.name.rpartition(".")[2], t.shape, t.dtype, t.trainable) for t in its_own),
            tuple((name, child.signature) for name, child in part.children),
        )
        part.signature = signatures.setdefault(structure, len(signatures))
        part.find_repeats()
        return part

    walk(module, "")
    return list(parts.values())


def _attributes(module: nn.Module) -> dict[str, Scalar]:
    return {
        name: value
        for name, value in vars(module).items()
        if name not in _NOT_ITS_OWN and isinstance(value, _SCALARS) and not name.startswith("_")
    }
