"""Names alone give a tree: every tensor in it, counted right, equal layers folded."""

from pathlib import Path
from typing import Any

import pytest
import torch
from msgspec.structs import replace
from safetensors.torch import save_file

from bertviewer.core.building.backend import transformers
from bertviewer.core.checkpoints.stored import ITEM_BYTES, TORCH_NAMES, Checkpoint, StoredTensor
from bertviewer.core.loading.opening import open_model
from bertviewer.core.loading.structure import structure_from_names
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.module_tree import fold
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import UserError
from tests.core.drawn_tree import draw

WHY = (
    "cannot be run: it has no config.json with a model_type that transformers knows, and the names "
    "and shapes of its tensors do not identify the model"
)
BERT = {"hidden_size": 32, "num_hidden_layers": 12, "num_attention_heads": 2,
        "intermediate_size": 48, "vocab_size": 60}  # fmt: skip
SMALL = {
    "BertForMaskedLM": BERT,
    "GPT2Model": {"n_embd": 32, "n_layer": 12, "n_head": 2, "vocab_size": 60},
    "T5Model": {"d_model": 16, "d_ff": 24, "d_kv": 8, "num_layers": 3, "num_heads": 2,
                "vocab_size": 60},
}  # fmt: skip


def of(**shapes: tuple[int, ...]) -> Architecture:
    """Return the module tree of float32 tensors; two underscores stand for a dot."""
    return named({name.replace("__", "."): shape for name, shape in shapes.items()})


def named(shapes: dict[str, tuple[int, ...]], dtype: str = "F32") -> Architecture:
    tensors = {
        name: StoredTensor(name, dtype, shape, Path("x"), 0, 0) for name, shape in shapes.items()
    }
    return structure_from_names(
        Checkpoint((), tensors), SourceInfo("weights", "x", "base", "pretrained")
    )


@pytest.fixture(params=SMALL)
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, Path]:
    """Return a small model, and the one file that all of its tensors are saved in."""
    cls = getattr(transformers, request.param)
    model = cls(cls.config_class(**SMALL[request.param]))
    tensors = {name: parameter.data for name, parameter in model.named_parameters()}
    file = tmp_path / "all.safetensors"
    save_file(tensors, file)
    return model, file


def test_every_tensor_is_there_and_counted(saved: tuple[Any, Path]) -> None:
    model, file = saved
    expected = {name: tuple(p.shape) for name, p in model.named_parameters()}
    architecture = open_model(parse_source(str(file))).architecture
    if architecture.root.class_name != "Checkpoint":
        # BERT's is known by its names; here its names are all there is.
        architecture = named(expected)
    assert {t.name: t.shape for t in architecture.parameters} == expected
    total = sum(p.numel() for p in model.parameters())
    assert architecture.root.parameters == architecture.root.trainable == total
    assert architecture.tensor_count == len(expected)
    for node in architecture.modules:
        prefix = f"{node.path}." if node.path else ""
        below = [p.numel() for name, p in model.named_parameters() if name.startswith(prefix)]
        assert node.parameters == sum(below)
        assert node.count_formula == str(sum(below))
    # Every module of the real model that holds something of its own, and no other.
    assert {node.path for node in architecture.modules} == {
        path
        for path, _ in model.named_modules()
        if any(name.startswith(f"{path}.") or not path for name in expected)
    }
    assert sum(architecture.shares.values()) == pytest.approx(1)
    # Flows are another document.
    again = Architecture.from_json(architecture.to_json())
    assert again == replace(architecture, flows=None)


def test_equal_layers_are_repeats_in_the_order_of_their_numbers() -> None:
    layers = {f"h.{n}.{part}.weight": (4, 2) for n in (10, 2, 0, 1, 3) for part in ("q", "k")}
    architecture = named({**layers, "h.11.q.weight": (4, 2), "wte.weight": (7, 2)})
    assert draw(fold(architecture)) == (
        "Checkpoint: Checkpoint  102\n"
        "  h: Module  88\n"
        "    0–3: 4 × Module  64\n"
        "      k: Module  8  [4, 2]\n"
        "      q: Module  8  [4, 2]\n"
        "    10: Module  16\n"
        "      k: Module  8  [4, 2]\n"
        "      q: Module  8  [4, 2]\n"
        "    11: Module  8\n"
        "      q: Module  8  [4, 2]\n"
        "  wte: Module  14  [7, 2]"
    )


def test_layers_of_other_shapes_are_no_repeats() -> None:
    architecture = of(h__0__w=(2, 2), h__1__w=(2, 3), h__2__w=(2, 3))
    assert [node.repeat and node.repeat.count for node in architecture.modules] == [
        None, None, None, 2, 2,
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", ITEM_BYTES)
def test_stored_dtypes_in_torchs_words(dtype: str) -> None:
    (tensor,) = named({"a": (3,)}, dtype).parameters
    assert tensor.dtype == TORCH_NAMES[dtype]
    assert str(getattr(torch, tensor.dtype)) == f"torch.{tensor.dtype}"
    assert tensor.trainable == getattr(torch, tensor.dtype).is_floating_point


@pytest.mark.parametrize(
    "names",
    [
        ("",), (".",), ("a..b", "a.b"), (".a", "a."), ("a", "a.b", "a.b.c"),
        ("0", "1", "00", "01.a"), ("x.01.a", "x.1.a", "x.02.a"), ("٣.a", "٤.a"),
        ("9" * 5000 + ".a", "x"), ("<b>$x$#eval.é.名",),
    ],
)  # fmt: skip
def test_strange_names(names: tuple[str, ...]) -> None:
    architecture = named(dict.fromkeys(names, (2,)))
    assert sorted(t.name for t in architecture.parameters) == sorted(names)
    assert architecture.root.parameters == 2 * len(names)
    paths = [node.path for node in architecture.modules]
    assert len(set(paths)) == len(paths)
    assert {t.owner for t in architecture.parameters} <= set(paths)
    assert fold(architecture).parameters == 2 * len(names)


def test_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"^x: '(a\.)+.*' has too many levels$"):
        named({"a." * 60 + "b": (1,)})
    monkeypatch.setattr("bertviewer.core.loading.structure.MAX_TENSORS", 1_000)
    with pytest.raises(UserError, match=r"^x: 1,001 tensors are too many to display$"):
        named({str(number): (1,) for number in range(1_001)})


def test_it_cannot_be_run_and_says_why(tmp_path: Path) -> None:
    file = tmp_path / "all.safetensors"
    save_file({"layer.0.weight": torch.ones(3, 2)}, file)
    model = open_model(parse_source(str(file)))
    assert model.data is None
    with pytest.raises(UserError) as raised:
        model.module(random_weights=True)
    assert str(raised.value) == f"{file} {WHY}"
    with pytest.raises(UserError, match="cannot be run"):
        model.tokenizer()
    architecture = model.with_formulas()
    assert architecture.source.notices == (f"all.safetensors {WHY}.",)
    assert architecture.costs is not None
    assert architecture.costs.reason
    assert model.tasks == ()
    stored = model.stored("layer.0.weight")
    assert stored is not None
    assert stored.shape == (3, 2)
    assert model.stored("layer") is None
