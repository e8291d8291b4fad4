"""The chapters on a model. Their texts are in tests/golden/bert-base-report.md."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.costs import Costs
from bertviewer.core.sources.parsing import parse_source
from bertviewer.report.blocks import FormulaBlock, Sum, Table
from bertviewer.report.chapters import lists
from bertviewer.report.chapters.costs import costs
from bertviewer.report.chapters.formulas import formulas
from bertviewer.report.chapters.lists import configuration, tensors
from bertviewer.report.chapters.model import model
from bertviewer.report.chapters.parameters import parameters
from bertviewer.report.chapters.walkthrough import walkthrough
from bertviewer.report.subject import Subject
from tests.report.reading import cells, drafted, each, heads, number, rows, table, words


def test_the_model_chapter_names_the_checkpoint(demo: Subject) -> None:
    (weights,) = model(demo).section.sections
    assert "pretrained weights" in words(weights)
    assert "model.safetensors (90.87 MB)" in words(weights)
    assert not model(Subject(demo.architecture)).section.sections


def test_sums_of_parameters_are_exact(demo: Subject) -> None:
    sums = {one.title: one for one in each(parameters(demo).section, Sum)}
    assert sums.keys() == {"BertModel", "embeddings", "encoder", "pooler"}
    for one in sums.values():
        assert one.is_proven
        assert sum(number(f"{term.sign}{term.value}") for term in one.terms) == number(one.result)
    nodes = demo.architecture.modules
    bare = tuple(replace(node, count_formula=str(node.parameters)) for node in nodes)
    section = parameters(Subject(replace(demo.architecture, modules=bare))).section
    assert each(section, Sum) == []
    assert [inner.name for inner in section.sections] == ["symbols", "groups"]


def test_costs_are_those_that_the_run_counted(demo: Subject) -> None:
    section = costs(demo).section
    assert "B = 1, S = 11" in words(section)
    sums = {one.title: one for one in each(section, Sum)}
    # Embeddings are looked up, not multiplied.
    assert sums.keys() == {"BertModel", "encoder", "pooler"}
    assert demo.run is not None
    for title, one in sums.items():
        activation = demo.run.activation("" if title == "BertModel" else title)
        assert activation is not None
        assert activation.macs is not None
        expected = f"{activation.macs:,} multiply-adds = {2 * activation.macs:,} FLOPs"
        assert one.result == expected


def test_unknown_costs_have_a_reason(demo: Subject) -> None:
    unknown = Costs((), {}, (), reason="it is too loud")
    section = costs(replace(demo, architecture=replace(demo.architecture, costs=unknown))).section
    assert "No formula was found: it is too loud; its data flow has 171,196,416" in words(section)
    assert each(section, Sum) == []
    none = costs(replace(demo, architecture=replace(demo.architecture, costs=None))).section
    assert [inner.name for inner in none.sections] == ["memory"]


def test_the_walkthrough_adds_up_trainable_parameters(demo: Subject) -> None:
    found = table(walkthrough(demo).section, "walk")
    steps = [cells(row) for row in found.rows if row.look == "plain"]
    assert steps[0][4] == "101 2023 2003 1037 13092 12521 12521 2487 … 102"
    assert steps[8][2] == "[B, S, D][1, 11, 384]"
    frozen = tuple(
        replace(tensor, trainable=not tensor.name.startswith("embeddings"))
        for tensor in demo.architecture.parameters
    )
    part = walkthrough(Subject(replace(demo.architecture, parameters=frozen))).section
    for section, embeddings in ((walkthrough(demo).section, 11_918_592), (part, 0)):
        counts = [number(row[-1]) for row in heads(table(section, "walk"))]
        assert counts == [embeddings, 1_774_464, 8_872_320, 147_840]
        assert number(cells(table(section, "walk").rows[-1])[-1]) == sum(counts)


def test_each_class_has_one_formula_and_each_note_is_printed_once(demo: Subject) -> None:
    section = drafted(formulas, demo)
    blocks = each(section, FormulaBlock)
    classes = [words(block.about).split(" · ")[0] for block in blocks]
    assert classes[:4] == ["BertModel", "BertEmbeddings", "Embedding", "LayerNorm"]
    assert len(classes) == len(set(classes))
    assert not {"Dropout", "ModuleList"} & set(classes)
    assert all(block.maths and block.source for block in blocks)
    notes = [note for block in blocks for note in block.notes]
    assert len(notes) == len(set(notes))
    # Modules of one class that compute different things share a table.
    uses = dict(row for found in each(section, Table) for row in rows(found))
    assert uses["encoder.layer.0.attention.self.query"].startswith("Computes the queries")
    assert uses["encoder.layer.0.intermediate.dense"].startswith("Expands each position’s vector")


def test_all_configuration_keys_with_their_effects(demo: Subject) -> None:
    found = {row[0]: row[1:] for row in rows(table(configuration(demo).section, "configuration"))}
    assert found.keys() == demo.architecture.whole_config.keys()
    assert found["hidden_size"] == ["D", "384", "", "hidden size (features per token)"]
    assert found["position_embedding_type"][2] == "no effect here"
    assert found["hidden_dropout_prob"][2] == "none"
    long = replace(demo.architecture, config={"x": "\u0e01" * 70_000}, unused={})
    (row,) = rows(table(configuration(Subject(long)).section, "configuration"))
    assert row[2].endswith("and 68,002 more characters")


def test_identical_layers_of_a_large_model_are_listed_once(
    demo: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = heads(table(tensors(demo).section, "tensors"))
    monkeypatch.setattr(lists, "MAX_TENSORS", 50)
    section = tensors(demo).section
    found = heads(table(section, "tensors"))
    assert [title for title, _ in found] == [
        "embeddings 5 tensors",
        "encoder.layer.0 to encoder.layer.5 6 × 16 tensors",
        "pooler 2 tensors",
    ]
    assert sum(number(row[1]) for row in found) == sum(number(row[1]) for row in whole)
    assert "are listed once" in words(section)


def test_a_tied_parameter_is_listed_and_not_counted(tiny_bert_folder: Path) -> None:
    architecture = open_model(parse_source(str(tiny_bert_folder), "masked-lm")).architecture
    found = table(tensors(Subject(architecture)).section, "tensors")
    names = [cells(row)[0] for row in found.rows if row.look == "plain"]
    assert len(names) == len(architecture.parameters)
    tied = "cls.predictions.decoder.weight tied to bert.embeddings.word_embeddings.weight"
    assert tied in names
    assert sum(number(row[1]) for row in heads(found)) == architecture.root.parameters
