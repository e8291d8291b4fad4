"""The output of each command in each format."""

import csv
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from pypdf import PdfReader

from bertviewer import __version__
from bertviewer.core.checks import check
from bertviewer.core.checks.check import reference_of
from bertviewer.core.sources.presets import PRESETS
from tests.cli.commands import bertviewer, shell
from tests.cli.conftest import Printed
from tests.tools.pdf_text import text_of

SENTENCE = "this is a 12212121 test sentence"
LAYER = "encoder.layer.0"


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_version_and_help_import_no_libraries(elsewhere: Path, argument: str) -> None:
    result = bertviewer(elsewhere, argument, python=("-X", "importtime"))
    assert result.returncode == 0
    assert (f"bertviewer {__version__}" if argument == "--version" else "summary") in result.stdout
    # Each line of stderr ends with the name of an imported module.
    names = (line.rpartition("|")[2].strip() for line in result.stderr.splitlines())
    imported = {name.partition(".")[0] for name in names}
    assert "argparse" in imported
    assert imported.isdisjoint({"torch", "transformers", "PySide6", "numpy"})


def test_presets(printed: Printed) -> None:
    lines = printed("presets").splitlines()
    assert [line.split()[0] for line in lines] == [preset.name for preset in PRESETS]


def test_summary(printed: Printed) -> None:
    text = printed("summary", "bert-base-uncased")
    assert "Total params: 109,482,240" in text
    assert "12 × BertLayer" in text
    assert "no weights" in text.splitlines()[0]
    document = json.loads(printed("summary", "bert-base-uncased", "--format", "json"))
    assert document["schema"] == "bertviewer.architecture/1"
    assert document["totals"]["parameters"] == 109_482_240
    assert len(document["parameters"]) == 199
    assert document["checkpoint"] is None
    values = {letter: symbol["value"] for letter, symbol in document["symbols"].items()}
    formula = document["modules"][0]["count_formula"]
    assert eval(formula, {"__builtins__": {}}, values) == 109_482_240
    text = printed("summary", "bert-base-uncased", "--format", "csv", "--parameters")
    rows = list(csv.DictReader(text.splitlines()))
    assert len(rows) == 199
    assert sum(int(row["numel"]) for row in rows) == 109_482_240
    text = printed("summary", "demo", "--format", "csv")
    rows = list(csv.DictReader(text.splitlines()))
    assert (rows[0]["class"], rows[0]["parameters"]) == ("BertModel", "22713216")
    task = ("--task", "sequence-classification", "--depth", "1")
    text = printed("summary", "bert-base-uncased", "--format", "markdown", *task)
    assert text.startswith("# bert-base-uncased\n")
    assert "classifier | Linear | 1,538" in text
    assert "BertLayer" not in text


def test_summary_of_a_checkpoint(printed: Printed, tiny_bert_folder: Path) -> None:
    by_folder, by_file = (
        printed("summary", path).splitlines()
        for path in (tiny_bert_folder, tiny_bert_folder / "config.json")
    )
    assert "pretrained weights" in by_folder[0]
    assert "no weights" in by_file[0]
    # The lines about the checkpoint come last.
    assert by_folder[1 : len(by_file)] == by_file[1:]
    task = ("summary", tiny_bert_folder, "--task", "masked-lm")
    missing = "Missing from the checkpoint, initialised randomly when the model is used: 5 of 42"
    assert missing in printed(*task)
    checkpoint = json.loads(printed(*task, "--format", "json"))["checkpoint"]
    assert len(checkpoint["missing"]) == 5
    assert checkpoint["files"][0]["name"] == "model.safetensors"
    assert checkpoint["stored_dtypes"] == {"F32": 39}


def test_run_as_json(printed: Printed) -> None:
    document = json.loads(printed("run", "demo", SENTENCE, "--format", "json"))
    assert document["schema"] == "bertviewer.run/1"
    assert document["source"]["weights"] == "pretrained"
    assert document["tokens"][1] == {"id": 2023, "text": "this", "segment": 0}
    assert len(document["tokens"]) == 11
    assert document["hidden_states"]["layers"] == 7
    assert document["modules"][0]["output_shape"] == [1, 11, 384]
    assert document["check"] is document["unchecked"] is None
    assert document["seconds"].pop("total") >= document["seconds"].pop("forward") > 0
    checked, offloaded = (
        json.loads(printed("run", "demo", SENTENCE, "--format", "json", "--check", *more))
        for more in ((), ("--offload",))
    )
    for each in (checked, offloaded):
        del each["seconds"]
    assert offloaded.pop("source") == checked.pop("source") | {"offloaded": True}
    assert offloaded == checked
    steps = checked["check"]
    assert all(step["ok"] and step["max_abs_error"] <= step["tolerance"] for step in steps)
    keys = {"path", "step", "max_abs_error", "tolerance", "ok", "proof"}
    assert {(*sorted(step),) for step in steps} == {(*sorted(keys),)}
    assert {step["proof"] for step in steps} == {"reference"}
    assert {step["path"] for step in steps} == {m["path"] for m in checked["modules"]}
    names = [step["step"] for step in steps if step["path"] == LAYER]
    assert (names[0], names[-1]) == ("self-attention", "= next hidden state")
    assert checked["unchecked"] == []


def test_run_as_text(printed: Printed, tiny_bert_folder: Path) -> None:
    text = printed("run", tiny_bert_folder, "the", "--pair", "cat", "--check")
    assert "5 tokens" in text
    assert "encoder.layer.1.attention.self.query" in text
    assert "steps are within their tolerance." in text
    (line,) = (line for line in text.splitlines() if line.startswith("BertSelfAttention"))
    # Two layers: the output and four heads, then output and weights of eager attention.
    assert line.split()[1:3] == ["14", "0"]
    random = printed("run", tiny_bert_folder / "config.json", "hello", "--random-weights")
    assert "randomly initialised weights" in random.splitlines()[0]


def test_a_failed_check_is_a_result(
    monkeypatch: pytest.MonkeyPatch, printed: Printed, tiny_bert_folder: Path
) -> None:
    def with_other_scaling(*args: Any) -> Any:
        reference = reference_of(*args)
        for part in reference.module.modules():
            if isinstance(scaling := getattr(part, "scaling", None), float):
                setattr(part, "scaling", 2 * scaling)  # noqa: B010
        return reference

    monkeypatch.setattr(check, "reference_of", with_other_scaling)
    out = printed("run", tiny_bert_folder, "the cat", "--check")
    assert "steps are outside their tolerance." in out
    assert "✗ encoder.layer.1.attention.self: head 3: |Δ| " in out


def test_a_text_longer_than_in_training_has_a_notice(printed: Printed, elsewhere: Path) -> None:
    config = {"model_type": "llama", "vocab_size": 90, "hidden_size": 8, "num_hidden_layers": 1}
    sizes = {"num_attention_heads": 1, "intermediate_size": 8, "max_position_embeddings": 20}
    (elsewhere / "config.json").write_text(json.dumps({**config, **sizes}))
    command = ("run", "config.json", "a " * 30, "--random-weights")
    (notice,) = json.loads(printed(*command, "--format", "json"))["source"]["notices"]
    assert notice.startswith("The text has 30 tokens, but the configuration")
    assert printed(*command).count(f"Note: {notice}\n") == 1


def test_flow(printed: Printed, elsewhere: Path) -> None:
    lines = printed("flow", "demo", LAYER).splitlines()
    assert lines[0].startswith("encoder.layer.0  BertLayer · 1,774,464 parameters")
    assert [line.split()[1] for line in lines[4:-1] if line[0].isdigit()] == [
        *("query", "key", "value", "attention", "dense", "residual", "LayerNorm"),
        *("feed-forward", "residual", "LayerNorm"),
    ]
    document = json.loads(printed("flow", "demo", LAYER, "--format", "json"))
    assert document["schema"] == "bertviewer.flow/1"
    assert (document["path"], document["class"]) == (LAYER, "BertLayer")
    assert document["repeat"] == {"first": 0, "last": 5, "count": 6}
    node = next(node for node in document["nodes"] if node["name"] == "attention")
    assert node.keys() >= {
        *("id", "kind", "name", "path", "class", "operation", "shape", "symbolic_shape"),
        *("macs", "nodes"),
    }
    assert node["kind"] == "group"
    assert node["nodes"]
    edge = next(edge for edge in document["edges"] if edge["role"] == "query")
    assert edge.keys() >= {"from", "to", "shape", "symbolic_shape", "role", "movement"}
    assert (edge["to"], edge["movement"]) == (node["id"], ["view", "transpose"])


def test_flow_as_a_drawing(printed: Printed, elsewhere: Path) -> None:
    svg = printed("flow", "demo", LAYER, "--format", "svg")
    words = " ".join(ElementTree.fromstring(svg).itertext())
    assert "encoder.layer.0" in words
    assert "GELU" in words
    assert printed("flow", "demo", LAYER, "--format", "dot").startswith("digraph")
    assert shell(elsewhere, "bertviewer flow demo --format pdf > flow.pdf").returncode == 0
    (page,) = PdfReader(elsewhere / "flow.pdf").pages
    assert "BertModel" in page.extract_text()


def test_compare(printed: Printed, tiny_bert_folder: Path) -> None:
    text = printed("compare", tiny_bert_folder, tiny_bert_folder)
    assert text.splitlines()[2:] == ["Tensors: 39 same"]
    document = json.loads(printed("compare", "demo", tiny_bert_folder, "--format", "json"))
    assert document["schema"] == "bertviewer.comparison/1"
    assert document["left"]["parameters"] == 22_713_216
    assert document["config"]["num_hidden_layers"] == [6, 2]
    assert document["counts"]["only left"] == 4 * 16


def test_report(printed: Printed, elsewhere: Path, tiny_bert_folder: Path) -> None:
    sections = ("--sections", "model,sentence")
    assert printed("report", tiny_bert_folder, "-o", "a.pdf", "--sentence", "a", *sections) == ""
    text = text_of(elsewhere / "a.pdf")
    assert "BertModel" in text
    assert "The sentence" in text
