"""Every family has every reading, and a family is all that a new one takes."""

import re
import subprocess
import sys
from inspect import getsource

import pytest

from bertviewer.core.families.families import CLASSES, FAMILIES, classes_of, kind_of_class
from bertviewer.core.families.family import Family, kind_of
from bertviewer.core.families.module_kind import ModuleKind, kinds_of
from bertviewer.core.formulas import norms
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.kinds import FORMULAS
from bertviewer.core.walkthrough.build import build_walkthrough
from tests.core.families import made_up
from tests.core.formulas.formula_models import TINY, all_architectures, architecture_of

WITH_MADE_UP = classes_of((*FAMILIES, made_up.FABLE))

TRIED_ALONE = {
    ModuleKind.TORCH_GELU,
    ModuleKind.QUICK_GELU,
    ModuleKind.CLIPPED_GELU,
    ModuleKind.SEQUENCE,
    # A decoder's that looks at an encoder, BigBird's of a short sentence, DeBERTa's with
    # legacy=False: choices of a configuration.
    ModuleKind.BERT_CROSS_ATTENTION,
    ModuleKind.BIG_BIRD_ATTENTION,
    ModuleKind.SCORES_BY_TABLE,
    ModuleKind.HEAD_AROUND_SCORES_BY_TABLE,
}
"""Kinds that no default configuration has; tests of formulas and checks choose them."""


def called(family: Family) -> str:
    return " ".join(family.prefixes) or "shared"


@pytest.mark.parametrize("family", FAMILIES, ids=called)
def test_every_class_has_a_formula(family: Family) -> None:
    kinds = {kind_of(what) for what in family.descriptions().values()}
    assert kinds
    assert kinds <= FORMULAS.keys()


def test_every_kind_is_of_a_family() -> None:
    assert {kind_of(what) for what in CLASSES.values()} == set(ModuleKind)


@pytest.mark.parametrize("name", TINY)
def test_all_modules_of_a_model_that_is_tried_are_known(name: str) -> None:
    for node in architecture_of(name).modules:
        assert kind_of_class(node.class_name) is not None, node.class_name


@pytest.mark.parametrize("family", FAMILIES, ids=called)
def test_models_of_every_prefix_are_tried(family: Family) -> None:
    names = {node.class_name for found in all_architectures().values() for node in found.modules}
    for prefix in family.prefixes:
        assert names & {f"{prefix}{ending}" for ending in family.endings}, prefix


def test_models_try_every_kind() -> None:
    names = {node.class_name for found in all_architectures().values() for node in found.modules}
    tried = {kind_of(CLASSES[name]) for name in names}
    assert set(ModuleKind) - tried == TRIED_ALONE


def test_modules_have_the_children_that_their_kind_is_said_to_have() -> None:
    said = re.findall(r'^    (\w+) = "[^"]+"  # ([\w, ]+)', getsource(ModuleKind), re.MULTILINE)
    children = {
        ModuleKind[kind]: set(names.strip().split(", "))
        for kind, names in said
        if not names.startswith("as its ")
    }
    assert len(children) > 60
    for architecture in all_architectures().values():
        for node in architecture.modules:
            own = {child.name for child in architecture.children(node.path)}
            kind = kind_of(CLASSES[node.class_name])
            assert kind is not None
            assert children.get(kind, set()) <= own, f"{kind} at {node.path!r}: {own}"


def test_what_is_said_of_some_kinds_is_said_of_all_like_them() -> None:
    assert norms.OPERATORS.keys() == kinds_of("layer norm", "RMS norm")


def test_a_class_is_of_one_family() -> None:
    with pytest.raises(ValueError, match="of two families: FableLayer"):
        classes_of((made_up.FABLE, Family(classes={"FableLayer": ModuleKind.LINEAR})))


def test_a_whole_name_goes_before_a_prefix_with_an_ending() -> None:
    assert CLASSES["MistralRMSNorm"] is ModuleKind.RMS_NORM
    assert CLASSES["GemmaRMSNorm"] is ModuleKind.RMS_NORM_ONE_PLUS


def test_a_made_up_family_has_formulas() -> None:
    architecture = made_up.architecture()
    nodes = {node.path: node for node in architecture.modules}
    found = {path: formula_of(node, architecture, WITH_MADE_UP) for path, node in nodes.items()}
    told = {path: formula.title for path, formula in found.items() if formula is not None}
    assert told["layers.1"] == "Transformer layer, pre-norm"
    assert told["layers.1.network"] == "Feed-forward network"
    assert told["layers.1.mix"] == "Multi-head self-attention"
    assert told["table"] == "Embedding"
    layer = found["layers.1"]
    assert layer is not None
    assert layer.maths[0] == 'limits(Z)_(S times 24) = X + "Attention"(op("LayerNorm")(X))'
    # Without the family it is read off the code as it ran.
    plain = formula_of(nodes["layers.1"], architecture)
    assert plain is not None
    assert plain.maths != layer.maths


def test_a_made_up_family_is_walked() -> None:
    architecture = made_up.architecture()
    sections = build_walkthrough(architecture).sections
    found = {section.title: [step.name for step in section.steps] for section in sections}
    assert found["Embeddings"] == ["Token IDs", "Token embedding"]
    assert found["One layer"] == [
        *("Norm", "Multi-head self-attention", "Add"),
        *("Norm", "Feed-forward network", "Add"),
    ]


def test_families_are_read_without_torch() -> None:
    code = (
        "import sys; import bertviewer.core.families.families; "
        "loaded = {name.partition('.')[0] for name in sys.modules}; "
        "assert not loaded & {'torch', 'transformers'}; "
        "assert not any('.formulas' in n or '.checking' in n for n in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
