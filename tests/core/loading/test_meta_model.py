"""The architecture of a torch module: paths, counts, repeated layers and shared modules."""

import pytest
import torch
from torch import nn

from bertviewer.core.formulas import catalogue
from bertviewer.core.loading.meta_model import inspect_module
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode, Repeat
from bertviewer.core.schema.source_info import SourceInfo


def layers(count: int) -> nn.ModuleList:
    with torch.device("meta"):
        return nn.ModuleList(
            nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 4)) for _ in range(count)
        )


def inspect(module: nn.Module) -> tuple[Architecture, dict[str, ModuleNode]]:
    """Return the architecture, and its modules by path in the order of ``named_modules``."""
    architecture = inspect_module(module, SourceInfo("config", "x", "base", "none"), {})
    nodes = {node.path: node for node in architecture.modules}
    assert list(nodes) == [path for path, _ in module.named_modules()]
    return architecture, nodes


def test_parameters_are_counted() -> None:
    model = layers(3)
    frozen = nn.Linear(4, 4, bias=False).requires_grad_(False)
    model.append(frozen)
    _, nodes = inspect(model)
    assert nodes[""].parameters == sum(parameter.numel() for parameter in model.parameters())
    assert nodes[""].trainable == nodes[""].parameters - 16
    assert (nodes["1"].parameters, nodes["1"].own_parameters) == (76, 0)
    assert nodes["1.0"].own_parameters == 40


def test_equal_neighbours_are_repeats() -> None:
    model = layers(5)
    model[2].add_module("more", nn.Identity())
    _, nodes = inspect(model)
    repeats = [nodes[str(number)].repeat for number in range(5)]
    assert repeats == [Repeat(0, 1, 2), Repeat(0, 1, 2), None, Repeat(3, 4, 2), Repeat(3, 4, 2)]


def test_a_shared_module_belongs_to_its_first_path() -> None:
    with torch.device("meta"):
        shared = nn.Linear(4, 4)
        model = nn.ModuleDict(
            {
                "one": nn.ModuleList([shared, nn.Linear(4, 4)]),
                "two": nn.ModuleList([nn.Linear(4, 4), shared]),
            }
        )
    architecture, nodes = inspect(model)
    assert [node.parameters for node in nodes.values()] == [60, 40, 20, 20, 20, 20]
    assert nodes["two.0"].repeat == Repeat(0, 1, 2)
    ties = [tensor.tied_to for tensor in architecture.tensors_below("two.1")]
    assert ties == ["one.0.weight", "one.0.bias"]


def test_repeated_layers_are_matched_with_templates_once(monkeypatch: pytest.MonkeyPatch) -> None:
    paths: list[str] = []
    formula_of = catalogue.formula_of

    def count(node: ModuleNode, architecture: Architecture) -> object:
        paths.append(node.path)
        return formula_of(node, architecture)

    monkeypatch.setattr(catalogue, "formula_of", count)
    inspect(layers(2))
    calls = len(paths)
    inspect(layers(200))
    assert len(paths) == 2 * calls
