"""The JSON document of an architecture says everything, and is read back equal."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.architecture import SCHEMA, Architecture
from bertviewer.core.schema.costs import bytes_by_dtype
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.sources.presets import preset_names


def through_json(architecture: Architecture) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(
        json.dumps(architecture.to_json(), allow_nan=False, ensure_ascii=False)
    )
    return document


@pytest.mark.parametrize(
    ("name", "task"),
    [
        *((name, "base") for name in (*preset_names(), "demo")),
        ("bert-base-uncased", "masked-lm"),
        ("bert-base-uncased", "sequence-classification"),
    ],
)
def test_round_trip(name: str, task: str) -> None:
    architecture = replace(open_model(parse_source(name, task)).architecture, flows=None)
    document = through_json(architecture)
    again = Architecture.from_json(document)
    assert again == architecture
    assert through_json(again) == document


def test_round_trip_with_formulas() -> None:
    model = open_model(parse_source("bert-base-uncased", "masked-lm"))
    architecture = replace(model.with_formulas(), flows=None)  # these have documents of their own
    document = through_json(architecture)
    assert Architecture.from_json(document) == architecture
    values = {letter: symbol["value"] for letter, symbol in document["symbols"].items()}
    for module in document["modules"]:
        assert eval(module["count_formula"], {"__builtins__": {}}, values) == module["parameters"]
    root = document["modules"][0]["count_formula"]
    assert "V" in root
    assert "D" in root


def test_document_of_bert_base() -> None:
    document = through_json(open_model(parse_source("bert-base-uncased")).architecture)
    assert list(document) == [
        "schema",
        "source",
        "config",
        "unused",
        "symbols",
        "totals",
        "shares",
        "kv_cache",
        "modules",
        "parameters",
        "compute",
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
    assert document["symbols"]["D"]["value"] == 768


def test_tied_tensor_names_its_first_holder_and_counts_once() -> None:
    document = through_json(open_model(parse_source("bert-base-uncased", "masked-lm")).architecture)
    (decoder,) = (
        t for t in document["parameters"] if t["name"] == "cls.predictions.decoder.weight"
    )
    assert decoder["tied_to"] == "bert.embeddings.word_embeddings.weight"
    untied = sum(t["numel"] for t in document["parameters"] if t["tied_to"] is None)
    assert untied == document["totals"]["parameters"] == 109_514_298


def test_half_bytes_round_up() -> None:
    assert bytes_by_dtype(3) == {"float32": 12, "float16": 6, "int8": 3, "int4": 2}


def test_other_schema_is_refused() -> None:
    with pytest.raises(ValueError, match=r"not a bertviewer\.architecture/1 document"):
        Architecture.from_json({"schema": "something/else"})


def test_a_number_that_json_does_not_know(tmp_path: Path) -> None:
    """Mamba 2 limits its time steps by infinity."""
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "mamba2", "num_hidden_layers": 1}')
    architecture = open_model(parse_source(str(path))).architecture
    document = through_json(architecture)
    assert Architecture.from_json(document) == architecture
    assert document["config"]["time_step_limit"] == [0.0, {"__float__": "Infinity"}]
