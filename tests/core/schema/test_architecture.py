"""The JSON document of an architecture has everything, and is read back equal."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from bertviewer.core.schema.architecture import SCHEMA, Architecture
from bertviewer.core.schema.costs import bytes_by_dtype
from bertviewer.core.sources.presets import preset_names
from tests.core.opened import derived, plain


def through_json(architecture: Architecture) -> dict[str, Any]:
    text = json.dumps(architecture.to_json(), allow_nan=False, ensure_ascii=False)
    document: dict[str, Any] = json.loads(text)
    return document


@pytest.mark.parametrize(
    "architecture",
    [
        *(pytest.param(lambda name=name: plain(name), id=name) for name in preset_names()),
        pytest.param(lambda: plain("bert-base-uncased", "sequence-classification"), id="head"),
        pytest.param(lambda: derived("bert-base-uncased", "masked-lm"), id="with formulas"),
    ],
)
def test_round_trip(architecture: Any) -> None:
    original = replace(architecture(), flows=None)  # these have separate documents
    document = through_json(original)
    again = Architecture.from_json(document)
    assert again == original
    assert through_json(again) == document


def test_formulas_in_the_document_are_python() -> None:
    document = through_json(derived("bert-base-uncased", "masked-lm"))
    values = {letter: symbol["value"] for letter, symbol in document["symbols"].items()}
    for module in document["modules"]:
        assert eval(module["count_formula"], {"__builtins__": {}}, values) == module["parameters"]
    assert {"V", "D"} <= set(document["modules"][0]["count_formula"])


def test_document_of_bert_base() -> None:
    document = through_json(plain("bert-base-uncased"))
    assert list(document) == [
        *("schema", "source", "config", "unused", "symbols", "totals", "shares", "kv_cache"),
        *("modules", "parameters", "compute"),
    ]
    assert document["schema"] == SCHEMA == "bertviewer.architecture/1"
    assert document["source"]["weights"] == "none"
    assert document["totals"] == {
        "parameters": 109_482_240,
        "trainable": 109_482_240,
        "tensors": 199,
        "modules": len(document["modules"]),
        "bytes": {
            "float32": 437_928_960,
            "float16": 218_964_480,
            "int8": 109_482_240,
            "int4": 54_741_120,
        },
    }
    layer = next(m for m in document["modules"] if m["path"] == "encoder.layer.3")
    assert layer["repeat"] == {"first": 0, "last": 11, "count": 12}
    assert layer["depth"] == 3
    assert layer["class_module"] == "transformers.models.bert.modeling_bert"
    assert document["symbols"]["D"]["value"] == 768


def test_older_documents_without_modules_of_classes() -> None:
    document = through_json(plain("bert-base-uncased"))
    for entry in document["modules"]:
        del entry["class_module"]
    assert {node.class_module for node in Architecture.from_json(document).modules} == {""}


def test_a_tied_tensor_names_the_other_and_counts_once() -> None:
    document = through_json(plain("bert-base-uncased", "masked-lm"))
    tensors = {tensor["name"]: tensor for tensor in document["parameters"]}
    tied = tensors["cls.predictions.decoder.weight"]
    assert tied["tied_to"] == "bert.embeddings.word_embeddings.weight"
    untied = sum(t["numel"] for t in tensors.values() if t["tied_to"] is None)
    assert untied == document["totals"]["parameters"] == 109_514_298


def test_half_bytes_are_rounded_up() -> None:
    assert bytes_by_dtype(3) == {"float32": 12, "float16": 6, "int8": 3, "int4": 2}


def test_another_schema_is_refused() -> None:
    with pytest.raises(ValueError, match=r"not a bertviewer\.architecture/1 document"):
        Architecture.from_json({"schema": "something/else"})
