"""The source of a class is what the library's file says, at the line that it names."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
import transformers
from msgspec.structs import replace
from transformers.models.bert import modeling_bert
from transformers.models.llama import modeling_llama

from bertviewer.core.building.source_code import source_of
from bertviewer.core.schema.architecture import Architecture
from tests.core.formulas.formula_models import all_architectures, architecture_of


def test_a_classs_source_is_its_lines_in_its_file() -> None:
    (found,) = source_of("transformers.models.bert.modeling_bert", "BertSelfAttention")
    assert found.path == "transformers/models/bert/modeling_bert.py"
    assert (found.package, found.version) == ("transformers", transformers.__version__)
    lines = Path(modeling_bert.__file__).read_text(encoding="utf-8").splitlines()
    text = found.text.splitlines()
    assert text[0] == "class BertSelfAttention(nn.Module):"
    assert lines[found.first_line - 1 :][: len(text)] == text
    assert "attention_interface(" in found.text


def test_torch_and_the_programs_own_model_have_theirs() -> None:
    (linear,) = source_of("torch.nn.modules.linear", "Linear")
    assert linear.path == "torch/nn/modules/linear.py"
    assert linear.version == torch.__version__
    import bertviewer.core.building.transformer_base  # noqa: F401

    (own,) = source_of("bertviewer.core.building.transformer_base", "TransformerBaseModel")
    assert own.path == "bertviewer/core/building/transformer_base.py"
    assert "def forward(" in own.text


def test_an_inherited_forward_comes_with_its_base_class() -> None:
    assert modeling_llama.__name__ in sys.modules
    whole, forward = source_of(modeling_llama.__name__, "LlamaForSequenceClassification")
    assert whole.text.startswith("class LlamaForSequenceClassification(")
    assert forward.name == "GenericForSequenceClassification.forward"
    assert forward.path == "transformers/modeling_layers.py"
    assert "self.score(" in forward.text


def test_a_list_of_modules_has_no_forward_to_inherit() -> None:
    (found,) = source_of("torch.nn.modules.container", "ModuleList")
    assert found.name == "ModuleList"


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("", ""),
        ("no.such.module", "X"),
        ("torch.nn.modules.linear", "NoSuchClass"),
        ("torch", "nn"),
    ],
)
def test_what_is_not_there_has_no_source(module: str, name: str) -> None:
    assert source_of(module, name) == ()


def test_a_class_made_at_run_time_has_no_source(monkeypatch: pytest.MonkeyPatch) -> None:
    made = type("Made", (torch.nn.Module,), {"__module__": __name__})
    monkeypatch.setattr(sys.modules[__name__], "Made", made, raising=False)
    assert source_of(__name__, "Made") == ()


def test_nothing_is_imported_for_it() -> None:
    code = (
        "import sys; from bertviewer.core.building.source_code import source_of; "
        "assert source_of('transformers.models.bert.modeling_bert', 'BertModel') == (); "
        "assert 'torch' not in sys.modules and 'transformers' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_module_of_every_family_names_where_its_class_is_found() -> None:
    classes = {
        (node.class_module, node.class_name)
        for architecture in all_architectures().values()
        for node in architecture.modules
    }
    assert {kind for kind in classes if not isinstance(_class(*kind), type)} == set()
    # To find a class its whole file is parsed: one of each file is enough.
    assert {kind for kind in dict(classes).items() if not source_of(*kind)} == set()


def _class(module: str, name: str) -> object:
    return getattr(sys.modules[module], name, None)


def test_the_document_keeps_the_classs_module_and_reads_older_ones() -> None:
    architecture = replace(architecture_of("bert"), flows=None)
    data = architecture.to_json()
    assert data["modules"][0]["class_module"] == "transformers.models.bert.modeling_bert"
    assert Architecture.from_json(data) == architecture
    for entry in data["modules"]:
        del entry["class_module"]
    assert {node.class_module for node in Architecture.from_json(data).modules} == {""}
