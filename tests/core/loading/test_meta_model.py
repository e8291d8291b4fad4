"""What is read off a module: places, counts, runs of equal layers, and formulas once a kind."""

import pytest
import torch
from torch import nn

from bertviewer.core.formulas import catalogue
from bertviewer.core.loading.meta_model import inspect_module
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode, Repeat
from bertviewer.core.schema.source_info import SourceInfo

SOURCE = SourceInfo("config", "x", "base", "none")


def layers(count: int) -> nn.ModuleList:
    with torch.device("meta"):
        return nn.ModuleList(
            nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 4)) for _ in range(count)
        )


def node_at(architecture: Architecture, path: str) -> ModuleNode:
    (node,) = (node for node in architecture.modules if node.path == path)
    return node


def test_modules_stand_as_torch_lists_them_and_add_up() -> None:
    model = layers(3)
    fixed = nn.Linear(4, 4, bias=False)
    fixed.weight.requires_grad = False
    model.append(fixed)
    found = inspect_module(model, SOURCE, {})
    assert [node.path for node in found.modules] == [path for path, _ in model.named_modules()]
    assert found.root.parameters == sum(parameter.numel() for parameter in model.parameters())
    assert found.root.trainable == found.root.parameters - 16
    assert node_at(found, "1").parameters == 76
    assert node_at(found, "1").own_parameters == 0
    assert node_at(found, "1.0").own_parameters == 40


def test_equal_neighbours_are_repeats_and_others_are_not() -> None:
    model = layers(5)
    model[2].add_module("more", nn.Identity())
    found = inspect_module(model, SOURCE, {})
    repeats = [node_at(found, str(number)).repeat for number in range(5)]
    assert repeats == [Repeat(0, 1, 2), Repeat(0, 1, 2), None, Repeat(3, 4, 2), Repeat(3, 4, 2)]


def test_a_module_in_two_places_belongs_to_the_first() -> None:
    with torch.device("meta"):
        shared = nn.Linear(4, 4)
        model = nn.ModuleDict(
            {
                "one": nn.ModuleList([shared, nn.Linear(4, 4)]),
                "two": nn.ModuleList([nn.Linear(4, 4), shared]),
            }
        )
    found = inspect_module(model, SOURCE, {})
    assert [node.path for node in found.modules] == [path for path, _ in model.named_modules()]
    assert [node.parameters for node in found.modules] == [60, 40, 20, 20, 20, 20]
    assert node_at(found, "two.0").repeat == Repeat(0, 1, 2)
    assert [tensor.tied_to for tensor in found.tensors_below("two.1")] == [
        "one.0.weight",
        "one.0.bias",
    ]


def test_formulas_are_written_once_for_all_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    formula_of = catalogue.formula_of

    def count(node: ModuleNode, architecture: Architecture) -> object:
        asked.append(node.path)
        return formula_of(node, architecture)

    monkeypatch.setattr(catalogue, "formula_of", count)
    inspect_module(layers(2), SOURCE, {})
    few = len(asked)
    inspect_module(layers(200), SOURCE, {})
    assert len(asked) == 2 * few
