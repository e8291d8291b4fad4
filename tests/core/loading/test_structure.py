"""Module trees from tensor names alone: every tensor counts, equal layers are folded."""

from pathlib import Path
from typing import Any

import pytest
import torch
from msgspec.structs import replace

from bertviewer.core.building.backend import transformers
from bertviewer.core.checkpoints.stored import ITEM_BYTES, TORCH_NAMES, Checkpoint, StoredTensor
from bertviewer.core.loading.structure import structure_from_names
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.module_tree import fold
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.util.errors import UserError
from tests.core.drawn_tree import draw
from tests.core.loading.tiny_models import opened, write_tensors

REASON = (
    "cannot be run: it has no config.json with a model_type that transformers knows, and the names "
    "and shapes of its tensors do not identify the model"
)


def structure(shapes: dict[str, tuple[int, ...]], dtype: str = "F32") -> Architecture:
    tensors = {
        name: StoredTensor(name, dtype, shape, Path("x"), 0, 0) for name, shape in shapes.items()
    }
    source = SourceInfo("weights", "x", "base", "pretrained")
    return structure_from_names(Checkpoint((), tensors), source)


@pytest.mark.parametrize(
    ("class_name", "sizes"),
    [
        ("GPT2Model", {"n_embd": 32, "n_layer": 12, "n_head": 2, "vocab_size": 60}),
        ("T5Model", {"d_model": 16, "d_ff": 24, "num_layers": 3, "num_heads": 2}),
    ],
)
def test_modules_are_those_of_the_model(class_name: str, sizes: dict[str, Any]) -> None:
    kind = getattr(transformers, class_name)
    with torch.device("meta"):
        model = kind(kind.config_class(**sizes))
    parameters = dict(model.named_parameters())
    shapes = {name: tuple(parameter.shape) for name, parameter in parameters.items()}
    architecture = structure(shapes)
    assert {t.name: t.shape for t in architecture.parameters} == shapes
    assert architecture.tensor_count == len(shapes)
    assert architecture.root.parameters == architecture.root.trainable
    for node in architecture.modules:
        prefix = f"{node.path}." if node.path else ""
        below = sum(p.numel() for name, p in parameters.items() if name.startswith(prefix))
        assert node.parameters == int(node.count_formula) == below
    # All modules that have parameters.
    assert {node.path for node in architecture.modules} == {
        path
        for path, _ in model.named_modules()
        if any(name.startswith(f"{path}.") or not path for name in parameters)
    }
    assert sum(architecture.shares.values()) == pytest.approx(1)
    assert Architecture.from_json(architecture.to_json()) == replace(architecture, flows=None)


def test_equal_layers_are_repeats_in_numerical_order() -> None:
    layers = {f"h.{n}.{part}.weight": (4, 2) for n in (10, 2, 0, 1, 3) for part in ("q", "k")}
    # Layer 11 lacks a tensor, layer 12 has another shape.
    others = {"h.11.q.weight": (4, 2), "h.12.q.weight": (4, 3), "wte.weight": (7, 2)}
    assert draw(fold(structure({**layers, **others}))) == (
        "Checkpoint: Checkpoint  114\n"
        "  h: Module  100\n"
        "    0–3: 4 × Module  64\n"
        "      k: Module  8  [4, 2]\n"
        "      q: Module  8  [4, 2]\n"
        "    10: Module  16\n"
        "      k: Module  8  [4, 2]\n"
        "      q: Module  8  [4, 2]\n"
        "    11: Module  8\n"
        "      q: Module  8  [4, 2]\n"
        "    12: Module  12\n"
        "      q: Module  12  [4, 3]\n"
        "  wte: Module  14  [7, 2]"
    )


@pytest.mark.parametrize("dtype", ITEM_BYTES)
def test_dtypes_have_torchs_names(dtype: str) -> None:
    (tensor,) = structure({"a": (3,)}, dtype).parameters
    assert tensor.dtype == TORCH_NAMES[dtype]
    assert tensor.trainable == getattr(torch, tensor.dtype).is_floating_point


@pytest.mark.parametrize(
    "names",
    [
        ("",), (".",), ("a..b", "a.b"), (".a", "a."), ("a", "a.b", "a.b.c"),
        ("0", "1", "00", "01.a"), ("x.01.a", "x.1.a", "x.02.a"), ("٣.a", "٤.a"),
        ("9" * 5000 + ".a", "x"), ("<b>$x$#eval.é.名",),
    ],
)  # fmt: skip
def test_unusual_names(names: tuple[str, ...]) -> None:
    architecture = structure(dict.fromkeys(names, (2,)))
    assert sorted(t.name for t in architecture.parameters) == sorted(names)
    assert architecture.root.parameters == 2 * len(names)
    paths = [node.path for node in architecture.modules]
    assert len(set(paths)) == len(paths)
    assert {t.owner for t in architecture.parameters} <= set(paths)
    assert fold(architecture).parameters == 2 * len(names)


def test_too_many_tensors_and_levels_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"^x: '(a\.)+.*' has too many levels$"):
        structure({"a." * 60 + "b": (1,)})
    monkeypatch.setattr("bertviewer.core.loading.structure.MAX_TENSORS", 1_000)
    with pytest.raises(UserError, match=r"^x: 1,001 tensors are too many to display$"):
        structure({str(number): (1,) for number in range(1_001)})


def test_an_unknown_model_cannot_be_run(tmp_path: Path) -> None:
    write_tensors(tmp_path, {"layer.0.weight": torch.ones(3, 2)})
    file = tmp_path / "model.safetensors"
    model = opened(file)
    assert model.data is None
    with pytest.raises(UserError) as raised:
        model.module(random_weights=True)
    assert str(raised.value) == f"{file} {REASON}"
    with pytest.raises(UserError, match="cannot be run"):
        model.tokenizer()
    architecture = model.with_formulas()
    assert architecture.source.notices == (f"model.safetensors {REASON}.",)
    assert architecture.costs is not None
    assert architecture.costs.reason
    assert model.tasks == ()
    stored = model.stored("layer.0.weight")
    assert stored is not None
    assert stored.shape == (3, 2)
    assert model.stored("layer") is None
