"""The chapters on a model: what it is, its parameters, costs, walk, formulas and lists."""

import pytest
from msgspec.structs import replace

from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.costs import Costs
from bertviewer.core.sources.parsing import parse_source
from bertviewer.report.blocks import Facts, Figure, FormulaBlock, Section, Sum, Table
from bertviewer.report.chapters.costs import costs
from bertviewer.report.chapters.formulas import formulas
from bertviewer.report.chapters.lists import configuration, modules, tensors
from bertviewer.report.chapters.model import model
from bertviewer.report.chapters.parameters import parameters
from bertviewer.report.chapters.walkthrough import walkthrough
from bertviewer.report.subject import Subject
from tests.report.reading import cells, each, rows, said, table


@pytest.fixture(scope="module")
def bert_base() -> Subject:
    opened = open_model(parse_source("bert-base-uncased"))
    return Subject(opened.with_formulas())


def formulas_of(subject: Subject) -> Section:
    found = formulas(subject)
    assert found is not None
    return found.section


def test_what_the_model_is_in_words_with_its_own_numbers(demo: Subject) -> None:
    drafted = model(demo)
    words = said(drafted.section.blocks[0])
    assert "maps a sequence of token ids to one context-dependent vector" in words
    assert "22,713,216 parameters" in words
    assert "encoder (46.87%)" in words
    assert "6 identical layers (BertLayer) of 1,774,464 parameters each" in words
    (facts,) = each(drafted.section, Facts)
    assert ("Parameters", ("22,713,216",)) in facts.pairs
    assert [figure.picture for figure in each(drafted.section, Figure)] == ["model", "layer"]
    assert drafted.pictures.keys() == {"model", "layer"}
    assert "pretrained weights" in said(drafted.section.sections[0])
    assert "model.safetensors (90.87 MB)" in said(drafted.section.sections[0])


def test_parts_add_up(demo: Subject) -> None:
    section = parameters(demo).section
    *parts, whole = rows(table(section, "parts"))
    assert whole[:4] == ["BertModel", "BertModel", "22,713,216", "100.00%"]
    assert [part[:4] for part in parts] == [
        ["embeddings", "BertEmbeddings", "11,918,592", "52.47%"],
        ["encoder", "BertEncoder", "10,646,784", "46.87%"],
        ["pooler", "BertPooler", "147,840", "0.65%"],
    ]


def test_counts_in_three_lines_are_proven(demo: Subject) -> None:
    sums = {one.title: one for one in each(parameters(demo).section, Sum)}
    assert sums.keys() == {"BertModel", "embeddings", "encoder", "pooler"}
    pooler = sums["pooler"]
    assert [(t.sign, t.letters, t.numbers, t.value) for t in pooler.terms] == [
        ("", "D²", "384²", "147,456"),
        ("+", "D", "384", "384"),
    ]
    for one in sums.values():
        assert one.is_proven
        values = [int(term.value.replace(",", "")) for term in one.terms]
        assert f"{sum(values):,}" == one.result


def test_a_count_without_a_formula_says_so(demo: Subject) -> None:
    architecture = demo.architecture
    bare = tuple(replace(node, count_formula=str(node.parameters)) for node in architecture.modules)
    section = parameters(Subject(replace(architecture, modules=bare))).section
    assert each(section, Sum) == []
    assert [inner.name for inner in section.sections] == ["symbols", "groups"]


def test_symbols_and_groups(demo: Subject) -> None:
    section = parameters(demo).section
    assert ["D", "hidden_size", "384"] in [row[:3] for row in rows(table(section, "symbols"))]
    groups = rows(table(section, "groups"))
    assert groups[0] == ["Embedding", "V·D + 2·D + L·D + 2·D= V·D + L·D + 4·D", "11,918,592"]
    assert groups[1][1].endswith("= N·(12·D² + 13·D)")
    assert groups[-1] == ["Total", "103 tensors", "22,713,216 "]
    assert "where I = 4·D, T = 2" in said(section)


def test_costs_are_those_of_the_run(demo: Subject) -> None:
    section = costs(demo).section
    assert "B = 1, S = 11" in said(section)
    sums = {one.title: one for one in each(section, Sum)}
    # Embeddings are looked up, which is no multiplication.
    assert sums.keys() == {"BertModel", "encoder", "pooler"}
    assert demo.run is not None
    for title, one in sums.items():
        activation = demo.run.activation("" if title == "BertModel" else title)
        assert activation is not None
        assert activation.macs is not None
        expected = f"{activation.macs:,} multiply-adds = {2 * activation.macs:,} FLOPs"
        assert one.result == expected
    assert rows(table(section, "memory")) == [
        ["float32", "90.85 MB", "86.64 MiB"],
        ["float16, bfloat16", "45.43 MB", "43.32 MiB"],
        ["int8", "22.71 MB", "21.66 MiB"],
        ["int4", "11.36 MB", "10.83 MiB"],
    ]


def test_costs_that_nobody_knows_are_said(demo: Subject) -> None:
    unknown = Costs((), {}, (), reason="it is too loud")
    section = costs(replace(demo, architecture=replace(demo.architecture, costs=unknown))).section
    assert "No formula was found: it is too loud; its data flow has 171,196,416" in said(section)
    assert each(section, Sum) == []
    nothing = costs(replace(demo, architecture=replace(demo.architecture, costs=None))).section
    assert [inner.name for inner in nothing.sections] == ["memory"]


def test_the_walk(demo: Subject) -> None:
    found = table(walkthrough(demo).section, "walk")
    heads = [cells(row) for row in found.rows if row.look == "head"]
    assert heads == [
        ["Embeddings", "11,918,592 "],
        ["One layer (of N = 6)", "1,774,464 "],
        ["Other layers", "8,872,320 "],
        ["After the layers", "147,840 "],
    ]
    steps = [cells(row) for row in found.rows if row.look == "plain"]
    assert steps[0][4] == "101 2023 2003 1037 13092 12521 12521 2487 … 102"
    assert steps[8][:3] == [
        "9",
        "Multi-head self-attentionencoder.layer.0.attention.self"
        "encoder.layer.0.attention.output.dense",
        "[B, S, D][1, 11, 384]",
    ]
    assert steps[8][4:] == ["4·(D·D+D)4·(384·384+384)", "591,360"]
    assert cells(found.rows[-1])[-1] == "22,713,216 "


def test_what_is_learnt_is_what_the_walk_adds_up(demo: Subject) -> None:
    architecture = demo.architecture
    frozen = tuple(
        replace(tensor, trainable=not tensor.name.startswith("embeddings"))
        for tensor in architecture.parameters
    )
    found = table(walkthrough(Subject(replace(architecture, parameters=frozen))).section, "walk")
    heads = [cells(row)[-1].strip() for row in found.rows if row.look == "head"]
    assert heads == ["0", "1,774,464", "8,872,320", "147,840"]
    assert cells(found.rows[-1])[-1].strip() == "10,794,624"


def test_one_formula_for_a_class_and_every_use_of_it(demo: Subject) -> None:
    section = formulas_of(demo)
    blocks = each(section, FormulaBlock)
    classes = [said(block.about).split(" · ")[0] for block in blocks]
    assert classes[:4] == ["BertModel", "BertEmbeddings", "Embedding", "LayerNorm"]
    assert len(classes) == len(set(classes))
    assert not {"Dropout", "ModuleList"} & set(classes)
    (attention,) = (block for block in blocks if "BertSelfAttention" in said(block.about))
    assert any("softmax" in line for line in attention.maths)
    assert any("√d_k" in note for note in attention.notes)
    for block in blocks:
        assert block.maths
        assert block.source
    uses = [row for found in each(section, Table) for row in rows(found)]
    assert [
        "encoder.layer.0.attention.self.query",
        "Computes the queries: what each position looks for.",
    ] in uses
    assert [path for path, what in uses if "Expands each position’s vector" in what] == [
        "encoder.layer.0.intermediate.dense"
    ]


def test_no_note_is_said_twice(demo: Subject) -> None:
    notes = [note for block in each(formulas_of(demo), FormulaBlock) for note in block.notes]
    assert len(notes) == len(set(notes))


def test_the_configuration_has_symbols_and_meanings(demo: Subject) -> None:
    found = rows(table(configuration(demo).section, "configuration"))
    assert len(found) == len(demo.architecture.whole_config)
    assert ["hidden_size", "D", "384", "", "hidden size (features per token)"] in found
    small = "epsilon added to the variance in layer norm"
    assert ["layer_norm_eps", "", "1e-12", "", small] in found
    effects = {row[0]: row[3] for row in found}
    assert effects["position_embedding_type"] == "no effect here"
    assert effects["hidden_dropout_prob"] == "none"


def test_a_value_that_is_a_book_is_shortened(demo: Subject) -> None:
    architecture = replace(demo.architecture, config={"x": "\u0e01" * 70_000}, unused={})
    (row,) = rows(table(configuration(Subject(architecture)).section, "configuration"))
    assert row[2].endswith("and 68,002 more characters")


def test_modules_are_the_folded_tree(demo: Subject) -> None:
    found = table(modules(demo).section, "modules")
    assert cells(found.rows[0]) == ["BertModel", "BertModel", "22,713,216", "100.00%", ""]
    (layers,) = (row for row in found.rows if said(row.cells[0]) == "0–5")
    assert (layers.level, cells(layers)[1]) == (3, "6 × BertLayer")
    assert len(found.rows) == 30


def test_all_199_parameters_stand_in_groups(bert_base: Subject) -> None:
    """The first 5 are the embeddings, the next 16 the first layer, the last 2 the pooler."""
    found = table(tensors(bert_base).section, "tensors")
    groups: list[list[str]] = []
    for row in found.rows:
        if row.look == "head":
            groups.append([])
        else:
            groups[-1].append(cells(row)[0])
    assert sum(map(len, groups)) == 199
    assert [len(group) for group in groups] == [5, *[16] * 12, 2]
    assert groups[1][0] == "encoder.layer.0.attention.self.query.weight"
    heads = [cells(row) for row in found.rows if row.look == "head"]
    assert heads[0] == ["embeddings 5 tensors", "23,837,184"]
    assert heads[1] == ["encoder.layer.0 16 tensors", "7,087,872"]


def test_a_tied_parameter_is_listed_and_not_counted() -> None:
    opened = open_model(parse_source("bert-base-uncased", "masked-lm"))
    found = table(tensors(Subject(opened.architecture)).section, "tensors")
    tied = [cells(row)[0] for row in found.rows if " tied to " in cells(row)[0]]
    assert any("word_embeddings.weight" in name for name in tied)
    counts = [cells(row)[1] for row in found.rows if row.look == "head"]
    total = sum(int(count.replace(",", "")) for count in counts)
    assert total == 109_514_298
