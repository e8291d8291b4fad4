"""The chapters on a model. Their texts are in tests/golden/bert-base-report.md."""

import re
from pathlib import Path

from msgspec.structs import replace

from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.notation import styled
from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.costs import Costs
from bertviewer.core.sources.parsing import parse_source
from bertviewer.report.blocks import FormulaBlock, Maths, Paragraph, Sum, Table
from bertviewer.report.chapters.costs import costs
from bertviewer.report.chapters.formulas import formulas
from bertviewer.report.chapters.lists import configuration, modules, tensors
from bertviewer.report.chapters.model import model
from bertviewer.report.chapters.parameters import parameters
from bertviewer.report.chapters.walkthrough import walkthrough
from bertviewer.report.subject import Subject
from tests.core.formulas.formula_models import architecture_of
from tests.core.opened import derived, plain
from tests.core.walkthrough.small_walkthroughs import flowing
from tests.report.reading import cells, drafted, each, heads, number, rows, table, words


def test_the_model_chapter_names_the_checkpoint(demo: Subject) -> None:
    (weights,) = model(demo).section.sections
    assert "pretrained weights" in words(weights)
    assert "model.safetensors (90.87 MB)" in words(weights)
    assert not model(Subject(demo.architecture)).section.sections


def test_the_total_is_counted_once(demo: Subject) -> None:
    section = parameters(demo).section
    (whole,) = each(section, Sum)
    assert whole.is_proven
    assert sum(number(f"{term.sign}{term.value}") for term in whole.terms) == number(whole.result)
    *parts, total = rows(table(section, "parts"))
    assert [(part, module) for part, module, *_ in parts] == [
        ("Embedding", "embeddings"),
        ("Blocks", "encoder.layer.0\u00a0…\u00a05"),
        ("Pooler", "pooler"),
    ]
    assert parts[1][2] == "N·(4·(D·D+D) + 2·D + D·4D + 4D + 4D·D + D + 2·D)= N·(12·D² + 13·D)"
    assert sum(number(row[-2]) for row in parts) == number(total[-2]) == number(whole.result)


def test_a_model_without_parameters(demo: Subject) -> None:
    root = replace(demo.architecture.root, parameters=0, own_parameters=0, trainable=0)
    bare = Subject(
        replace(demo.architecture, modules=(root,), parameters=(), flows=None, config={})
    )
    assert "The model has no parameters" in words(parameters(bare).section)
    assert "table:parts" not in words(walkthrough(bare).section)


def test_parts_without_formulas_are_modules_or_components(demo: Subject) -> None:
    architecture = demo.architecture
    nodes = tuple(
        replace(node, count_formula=str(node.parameters)) for node in architecture.modules
    )
    tensors = tuple(replace(tensor, symbolic_shape=None) for tensor in architecture.parameters)
    bare = replace(architecture, modules=nodes, parameters=tensors, symbols=())
    section = parameters(Subject(bare)).section
    assert each(section, Sum) == []
    assert "No counting formula was found" in words(section)
    assert [row[0] for row in rows(table(section, "parts"))] == [
        *("Embedding", "Blocks", "Pooler", "Total"),
    ]
    named = parameters(Subject(replace(bare, config={}, flows=None))).section
    assert len(rows(table(named, "parts"))) == 4


def test_the_model_chapter_has_dropout_rates_and_the_task_head(
    demo: Subject, tiny_bert_folder: Path
) -> None:
    text = words(model(demo).section)
    assert "probability 0.1 in embeddings.dropout, encoder.layer.0–5.attention.self.dropout" in text
    assert "task head" not in text
    without = tuple(
        replace(node, attributes={**node.attributes, "p": 0.0})
        for node in demo.architecture.modules
    )
    none = model(Subject(replace(demo.architecture, modules=without))).section
    assert "have probability 0" in words(none)
    architecture = open_model(parse_source(str(tiny_bert_folder), "masked-lm")).architecture
    text = words(model(Subject(architecture)).section)
    head = next(node for node in architecture.modules if node.path == "cls")
    assert f"The task head cls (BertOnlyMLMHead) adds {head.parameters:,} parameters" in text
    assert (
        "cls.predictions.decoder.weight is tied to bert.embeddings.word_embeddings.weight" in text
    )
    assert f"the other {architecture.root.parameters - head.parameters:,} of" in text


def test_costs_are_those_that_the_run_counted(demo: Subject) -> None:
    section = costs(demo).section
    assert "B = 1, S = 11" in words(section)
    sums = {one.title: one for one in each(section, Sum)}
    assert sums.keys() == {"BertModel", "Peak activations"}
    assert demo.run is not None
    activation = demo.run.activation("")
    assert activation is not None
    assert activation.macs is not None
    macs = activation.macs
    assert sums["BertModel"].result == f"{macs:,} multiply-adds = {2 * macs:,} FLOPs"
    parts = rows(table(section, "expensive"))
    assert parts[0][0] == "encoder.layer.0–5.intermediate.dense"
    assert sum(number(row[1]) for row in parts) == macs
    assert "22,713,216 parameters take 90.85 MB = 86.64 MiB in float32" in words(section)
    gpt2 = costs(Subject(derived("gpt2"))).section
    cache = next(one for one in each(gpt2, Sum) if one.title == "Key/value cache")
    assert cache.result == "2,359,296 elements = 4.72 MB = 4.50 MiB in float16"


def test_layers_of_several_kinds_and_two_terms_with_one_meaning() -> None:
    kinds = ["conv", "full_attention", "conv"]
    mixed = architecture_of("lfm2", num_hidden_layers=3, layer_types=kinds, vocab_size=97)
    text = words(model(Subject(mixed)).section)
    assert ". In layers 0 and 2: “conv” and " in text
    assert ". In layer 1: self-attention and " in text
    assert drafted(formulas, Subject(architecture_of("rwkv"))).blocks


def test_unknown_costs_have_a_reason(demo: Subject) -> None:
    unknown = Costs((), {}, (), reason="it is too loud")
    section = costs(replace(demo, architecture=replace(demo.architecture, costs=unknown))).section
    assert "No formula was found: it is too loud; its data flow has 171,196,416" in words(section)
    assert each(section, Sum) == []
    assert "The figures are for" not in words(section)
    assert demo.run is not None
    macs = f"{demo.run.modules[0].macs:,}"
    assert f"In this run, {macs} multiply-adds were counted." in words(section)
    none = costs(replace(demo, architecture=replace(demo.architecture, costs=None))).section
    assert [inner.name for inner in none.sections] == ["memory"]


def test_the_walkthrough_adds_up_trainable_parameters(demo: Subject) -> None:
    found = table(walkthrough(demo).section, "walk")
    plain = [cells(row) for row in found.rows if row.look == "plain"]
    steps = [row for row in plain if row[0]]
    assert steps[0][4] == "101 2023 2003 1037 13092 12521 12521 2487 … 102"
    assert steps[8][1:4] == [
        "Multi-head self-attentionattention.selfattention.output.dense",
        "[B, S, D][1, 11, 384]",
        "[B, S, D][1, 11, 384]",
    ]
    # The steps inside are shown below, with the same count.
    inner = [row for row in plain if not row[0]]
    assert inner[0] == [
        *("", "\u2003Query projection\u2003attention.self.query", "[B, S, D]", "[B, S, D]"),
        *("D·D+D384·384+384", "147,840"),
    ]
    assert sum(number(row[-1]) for row in inner if row[-1]) == sum(
        number(steps[place][-1]) for place in (8, 12)
    )
    frozen = tuple(
        replace(tensor, trainable=not tensor.name.startswith("embeddings"))
        for tensor in demo.architecture.parameters
    )
    part = walkthrough(Subject(replace(demo.architecture, parameters=frozen))).section
    for section, embeddings in ((walkthrough(demo).section, 11_918_592), (part, 0)):
        counts = [number(row[-1]) for row in heads(table(section, "walk"))]
        assert counts == [embeddings, 1_774_464, 8_872_320, 147_840]
    subtotal = cells(found.rows[-1])
    assert (subtotal[1], subtotal[-1]) == ("Subtotal without the pooler", "22,565,376")


def test_inner_steps_are_shown_where_they_first_occur() -> None:
    subject = Subject(flowing("transformer-base"))
    found = table(walkthrough(subject).section, "walk")
    names = [cells(row)[1] for row in found.rows]
    # Of the self-attentions of the encoder and the decoder, and of the cross-attention.
    assert sum("Softmax" in name for name in names) == 3
    assert sum("Up projection" in name for name in names) == 1
    assert "Table 2.1" not in words(walkthrough(replace(subject, sections=("walk",))).section)


def test_a_walkthrough_without_a_graph_has_no_shapes() -> None:
    section = walkthrough(Subject(plain("bert-base-uncased"))).section
    assert [column.title for column in table(section, "walk").columns] == [
        *("", "Step", "Formula", "Trainable"),
    ]
    assert "the data flow is not known" in words(section)


def test_each_class_has_one_formula_and_each_note_is_printed_once(demo: Subject) -> None:
    section = drafted(formulas, demo)
    blocks = each(section, FormulaBlock)
    classes = [words(block.about).split(" · ")[0] for block in blocks]
    assert classes[:4] == ["BertModel", "BertEmbeddings", "Embedding", "LayerNorm"]
    assert len(classes) == len(set(classes))
    assert not {"Dropout", "ModuleList"} & set(classes)
    assert all(block.maths and block.source for block in blocks)
    notes = " ".join(note for block in blocks for note in block.notes)
    found = [formula_of(node, demo.architecture) for node in demo.architecture.modules]
    formulas_found = [formula for formula in found if formula is not None]
    assert all(notes.count(note) < 2 for formula in formulas_found for note in formula.notes)
    # A symbol is explained at its formula, or once for several.
    symbols = {styled(term.symbol) for formula in formulas_found for term in formula.terms}
    texts = [block.where for block in blocks] + [p.text for p in each(section, Paragraph)]
    explained = {span.source for text in texts for span in text if isinstance(span, Maths)}
    assert {each for each in symbols if not each.startswith(("p", "m_i", 'op("f")'))} == explained
    assert words(blocks[0].where).endswith(
        "Parts: embeddings (equation:embeddings), encoder (equation:encoder), "
        "pooler (equation:pooler)."
    )
    # Modules of one class that compute different things share a table.
    letters, *others = each(section, Table)
    assert rows(letters)[1] == ["Hidden size", "D", "384", "H", 'd_"model"']
    uses = dict(row for found in others for row in rows(found))
    assert uses["encoder.layer.0.attention.self.query"].startswith("Computes the queries")
    assert uses["encoder.layer.0.intermediate.dense"].startswith("Expands each position’s vector")


def test_all_configuration_keys_are_listed_once(demo: Subject) -> None:
    section = configuration(demo).section
    found = {row[0]: row[1:] for row in rows(table(section, "configuration"))}
    assert found["hidden_act"] == ['"gelu"', "activation function of the feed-forward network"]
    assert found["hidden_dropout_prob"][0] == "0.1"
    _, sizes, idle, empty = (words(block) for block in each(section, Paragraph))
    assert "hidden_size=384" in sizes
    assert 'position_embedding_type="absolute"' in idle
    assert "classifier_dropout" in empty
    for key in demo.architecture.whole_config:
        listed = re.findall(rf"\b{key}\b(?=[=,.]|$)", " ".join((sizes, idle, empty)))
        assert len(listed) + (key in found) == 1, key
    long = replace(demo.architecture, config={"x": "\u0e01" * 70_000}, unused={}, symbols=())
    (row,) = rows(table(configuration(Subject(long)).section, "configuration"))
    assert row[1].endswith("and 68,002 more characters")


def test_identical_layers_are_listed_once(demo: Subject) -> None:
    whole = tensors(replace(demo, is_folded=False)).section
    assert len(heads(table(whole, "tensors"))) == 8
    section = tensors(demo).section
    found = heads(table(section, "tensors"))
    assert [title for title, _ in found] == [
        "embeddings 5 tensors",
        "encoder.layer.0 to encoder.layer.5 6 × 16 tensors",
        "pooler 2 tensors",
    ]
    counts = (
        sum(number(row[1]) for row in heads(table(each, "tensors"))) for each in (whole, section)
    )
    assert set(counts) == {22_713_216}
    assert "are listed once" in words(section)


def test_the_module_tree_is_printed_as_by_torch(demo: Subject) -> None:
    folded = rows(table(modules(demo).section, "modules"))
    assert folded[:3] == [
        ["BertModel", "22,713,216"],
        ["(embeddings): BertEmbeddings", "11,918,592"],
        ["(word_embeddings): Embedding(30522, 384, padding_idx=0)", "11,720,448"],
    ]
    assert ["(0-5): 6 x BertLayer", "10,646,784"] in folded
    assert ["(dropout): Dropout(p=0.1, inplace=False)", ""] in folded
    norm = "(LayerNorm): LayerNorm((384,), eps=1e-12, elementwise_affine=True, bias=True)"
    assert [norm, "768"] in folded
    assert ["(activation): Tanh()", ""] in folded
    whole = rows(table(modules(replace(demo, is_folded=False)).section, "modules"))
    assert len(whole) == len(demo.architecture.modules)


def test_a_tied_parameter_is_listed_and_not_counted(tiny_bert_folder: Path) -> None:
    architecture = open_model(parse_source(str(tiny_bert_folder), "masked-lm")).architecture
    found = table(tensors(Subject(architecture, is_folded=False)).section, "tensors")
    names = [cells(row)[0] for row in found.rows if row.look == "plain"]
    assert len(names) == len(architecture.parameters)
    tied = "cls.predictions.decoder.weight tied to bert.embeddings.word_embeddings.weight"
    assert tied in names
    assert sum(number(row[1]) for row in heads(found)) == architecture.root.parameters
    assert heads(found)[0][0] == "bert.embeddings 5 tensors"
