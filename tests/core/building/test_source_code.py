"""The source of a module's class is what the library's file has at the line that is named."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
import transformers
from transformers.models.bert import modeling_bert
from transformers.models.llama import modeling_llama

import bertviewer.core.building.transformer_base  # noqa: F401 - only imported modules have sources
from bertviewer.core.building.source_code import source_of

OWN_MODEL = "bertviewer.core.building.transformer_base"


def test_a_class_is_its_lines_in_its_file() -> None:
    (found,) = source_of(modeling_bert.__name__, "BertSelfAttention")
    assert found.path == "transformers/models/bert/modeling_bert.py"
    assert (found.package, found.version) == ("transformers", transformers.__version__)
    lines = Path(modeling_bert.__file__).read_text(encoding="utf-8").splitlines()
    text = found.text.splitlines()
    assert text[0] == "class BertSelfAttention(nn.Module):"
    assert lines[found.first_line - 1 :][: len(text)] == text
    assert "attention_interface(" in found.text


@pytest.mark.parametrize(
    ("module", "name", "path", "version"),
    [
        ("torch.nn.modules.linear", "Linear", "torch/nn/modules/linear.py", torch.__version__),
        # It neither defines nor inherits a forward.
        ("torch.nn.modules.container", "ModuleList", "torch/nn/modules/container.py", None),
        (OWN_MODEL, "TransformerBaseModel", "bertviewer/core/building/transformer_base.py", None),
    ],
)
def test_classes_of_other_packages(module: str, name: str, path: str, version: str | None) -> None:
    (found,) = source_of(module, name)
    assert (found.name, found.path) == (name, path)
    assert version in (None, found.version)


def test_an_inherited_forward_comes_with_its_class() -> None:
    whole, forward = source_of(modeling_llama.__name__, "LlamaForSequenceClassification")
    assert whole.text.startswith("class LlamaForSequenceClassification(")
    assert forward.name == "GenericForSequenceClassification.forward"
    assert forward.path == "transformers/modeling_layers.py"
    assert "self.score(" in forward.text


class Module:
    """Replaced by a class that is created at run time."""


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("", ""),
        ("no.such.module", "X"),
        ("torch.nn.modules.linear", "NoSuchClass"),
        ("torch", "nn"),
        (__name__, "Module"),
    ],
)
def test_without_a_class_or_file_there_is_no_source(
    module: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = type("Made", (torch.nn.Module,), {"__module__": __name__})
    monkeypatch.setattr(sys.modules[__name__], "Module", made)
    assert source_of(module, name) == ()


def test_nothing_is_imported() -> None:
    code = (
        "import sys; from bertviewer.core.building.source_code import source_of; "
        "assert source_of('transformers.models.bert.modeling_bert', 'BertModel') == (); "
        "assert 'torch' not in sys.modules and 'transformers' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
