"""Module to ``Architecture``: reads off every module and tensor of a built model."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from torch import nn

from bertviewer.core.architecture import (
    Architecture,
    ModuleNode,
    Repeat,
    Scalar,
    TensorInfo,
    ancestors,
)
from bertviewer.core.formulas.catalogue import maths_of
from bertviewer.core.source_info import SourceInfo
from bertviewer.core.symbols import symbols_of


def inspect_module(
    module: nn.Module, source: SourceInfo, config: Mapping[str, Any]
) -> Architecture:
    """Return the structure of ``module``; counting formulas are plain numbers until derived."""
    tensors = tuple(_tensors(module))
    counts = _counts_by_module(tensors)
    repeats = _repeats(module)
    total = counts[""].parameters
    nodes = []
    for path, child in module.named_modules():
        count = counts.get(path, _Count())
        nodes.append(
            ModuleNode(
                path=path,
                class_name=type(child).__name__,
                depth=path.count(".") + 1 if path else 0,
                parameters=count.parameters,
                own_parameters=count.own,
                trainable=count.trainable,
                share=count.parameters / total if total else 0.0,
                repeat=repeats.get(path),
                attributes=_attributes(child),
                count_formula=str(count.parameters),
                forward_formula=None,
                class_module=type(child).__module__,
            )
        )
    plain = Architecture(source, config, symbols_of(config), tuple(nodes), tensors)
    return replace(
        plain,
        modules=tuple(replace(node, forward_formula=maths_of(node, plain)) for node in nodes),
    )


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


class _Count:
    """What is counted in one module while the tensors are walked."""

    __slots__ = ("own", "parameters", "trainable")

    def __init__(self) -> None:
        self.parameters = self.own = self.trainable = 0


def _counts_by_module(tensors: tuple[TensorInfo, ...]) -> dict[str, _Count]:
    counts: dict[str, _Count] = {"": _Count()}
    for tensor in tensors:
        if tensor.tied_to is not None:
            continue
        counts.setdefault(tensor.owner, _Count()).own += tensor.numel
        for path in ancestors(tensor.owner):
            count = counts.setdefault(path, _Count())
            count.parameters += tensor.numel
            count.trainable += tensor.numel if tensor.trainable else 0
    return counts


def _attributes(module: nn.Module) -> dict[str, Scalar]:
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_")
        and name not in ("training", "call_super_init", "dump_patches")
        and isinstance(value, str | int | float | None)
    }


def _repeats(module: nn.Module) -> dict[str, Repeat]:
    """Find the runs of equal siblings with consecutive numbers for names, two or more long."""
    found: dict[str, Repeat] = {}
    signatures = _signatures(module)
    for path, parent in module.named_modules():
        run: list[str] = []
        for name, child in [*parent.named_children(), ("", None)]:
            same = (
                bool(run)
                and name.isdecimal()
                and int(name) == int(run[-1]) + 1
                and signatures.get(id(child)) == signatures[id(parent.get_submodule(run[-1]))]
            )
            if same:
                run.append(name)
                continue
            if len(run) > 1:
                repeat = Repeat(int(run[0]), int(run[-1]), len(run))
                found.update((f"{path}.{n}" if path else n, repeat) for n in run)
            run = [name] if name.isdecimal() else []
    return found


def _signatures(module: nn.Module) -> dict[int, int]:
    """Number the modules so that structurally equal ones get the same number."""
    numbers: dict[object, int] = {}
    signatures: dict[int, int] = {}

    def sign(child: nn.Module) -> int:
        # A module that stands in several places is signed once.
        if id(child) not in signatures:
            structure = (
                type(child),
                child.extra_repr(),
                tuple(
                    (name, tuple(p.shape), p.dtype, p.requires_grad)
                    for name, p in child.named_parameters(recurse=False)
                ),
                tuple((name, sign(below)) for name, below in child.named_children()),
            )
            signatures[id(child)] = numbers.setdefault(structure, len(numbers))
        return signatures[id(child)]

    sign(module)
    return signatures
