"""The report as a real PDF, read back."""

import json
import re
from io import BytesIO
from pathlib import Path

import pypdf
import pytest
from PySide6.QtWidgets import QApplication

from bertviewer.core.activations.activation_run import ActivationRun, Sentence
from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.backend import torch
from bertviewer.core.loading.opening import open_model
from bertviewer.core.run.running import run_sentence
from bertviewer.core.source.model_source import ModelSource
from bertviewer.core.source.parsing import parse_source
from bertviewer.report.document import build_document, draw_run
from bertviewer.report.typesetting import report_pdf
from tests.report.conftest import TEXT
from tests.report.reading import Report, squeezed

RANDOM_NOTE = "The activations in this report pass through random weights."
SOME_RANDOM = "5 of 42 tensors are not in the checkpoint and were drawn at random: no figure"


def test_a_value_that_is_a_book_is_shortened(tmp_path: Path) -> None:
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = {"model_type": "bert", **sizes, "intermediate_size": 16, "x": "\u0e01" * 70_000}
    (tmp_path / "config.json").write_text(json.dumps(config))
    document = build_document(open_model(parse_source(str(tmp_path))).architecture)
    pages = pypdf.PdfReader(BytesIO(report_pdf(document.data, {}))).pages
    text = squeezed(" ".join(page.extract_text() for page in pages))
    assert squeezed("and 68,002 characters more") in text


class TestDemoModel:
    def test_title_and_totals(self, report: Report) -> None:
        metadata = report.reader.metadata
        assert metadata is not None
        assert metadata.title == "bertviewer: demo"
        assert report.pages[0].startswith("demo BertModel · Base model, no head Demo model (")
        assert "pretrained weights" in report.pages[0]
        assert "Total params 22,713,216 Trainable params 22,713,216" in report.pages[0]
        assert "Size as float32 90.85 MB" in report.pages[0]

    def test_shares(self, report: Report) -> None:
        for row in (
            "BertModel BertModel 22,713,216 100.00%",
            "embeddings BertEmbeddings 11,918,592 52.47%",
            "encoder BertEncoder 10,646,784 46.87%",
            "pooler BertPooler 147,840 0.65%",
        ):
            assert row in report.text

    def test_counting_formulas(self, report: Report) -> None:
        # Column by column: in symbols, with numbers put in, the value.
        assert "pooler D² 384² 147,456 + D + 384 + 384 = 147,840 ✓" in report.text
        assert "D hidden_size 384" in report.text

    def test_costs_and_memory(self, report: Report) -> None:
        assert "For B = 1, S = 11, where B is the number of sentences" in report.text
        assert "pooler B·D² 1·384² = 147,456 multiply-adds = 294,912 FLOPs" in report.text
        assert "float16, bfloat16 45.43 MB 43.32 MiB" in report.text

    def test_the_walk(self, report: Report) -> None:
        squeezed_text = squeezed(report.text)
        assert "One layer, of N = 6 1,774,464 ✓" in report.text
        for row in (
            "3 Embedding-Token embeddings.word_embeddings [B, S] [1, 11] [B, S, D]"
            " [1, 11, 384] V·D 30522·384 11,720,448",
            "9 MultiHeadSelfAttention encoder.layer.0.attention [B, S, D] [1, 11, 384]"
            " [B, S, D] [1, 11, 384] 4·(D·D+D) 4·(384·384+384) 591,360",
            "17 the other 5 layers encoder.layer.1 [B, S, D] [1, 11, 384] [B, S, D] [1, 11, 384]"
            " (N−1)·(4·D² + 2·D·I + 9·D + I) 5·1,774,464 8,872,320",
            "Blocks N·(4·(D·D+D) + 2·D + D·4D + 4D + 4D·D + D + 2·D) = N·(12·D² + 13·D) 10,646,784",
            "Total in 103 tensors 22,713,216 ✓",
        ):
            assert squeezed(row) in squeezed_text

    def test_module_table(self, report: Report) -> None:
        for row in (
            "0–5 6 × BertLayer 10,646,784 46.87%",
            "query Linear 147,840 0.65% [384, 384]",
            "word_embeddings Embedding 11,720,448 51.60% [30522, 384]",
            "intermediate_act_fn GELUActivation 0 0.00%",
        ):
            assert row in report.text

    def test_configuration(self, report: Report) -> None:
        assert "hidden_size 384" in report.text
        assert 'id2label {"0": "LABEL_0", "1": "LABEL_1"}' in report.text
        assert "layer_norm_eps 1e-12" in report.text

    def test_sentence_and_tokens(self, report: Report) -> None:
        assert TEXT in report.text
        assert "11 tokens." in report.text
        for token in ("[CLS] 101 · 0", "122 13092 · 0", "##12 12521 · 0", "[SEP] 102 · 0"):
            assert token in report.text

    def test_figures_of_the_run(
        self, report: Report, demo: tuple[Architecture, ActivationRun]
    ) -> None:
        layer = demo[1].activation("encoder.layer.3")
        assert layer is not None
        of = layer.statistics
        row = [of.mean, of.std, of.min, of.max, of.rms]
        figures = " ".join(f"{figure:.5g}" for figure in row).replace("-", "−")
        assert "−" in figures
        assert f"3 {figures} 0" in report.text
        assert "The std of each layer’s output." in report.text
        assert "NaN: 0, infinite: 0" in report.text

    def test_text_in_the_plots(self, report: Report) -> None:
        (page,) = (text for text in report.pages if "The Euclidean norm of each" in text)
        norms = page.partition("The Euclidean norm of each")[2]
        assert {"Token", "Layer", "emb", "[CLS]", "##12", "[SEP]"} <= set(norms.split())

    def test_outline(self, report: Report) -> None:
        headings = report.headings()
        assert [h for h in headings if re.match(r"\d+ ", h)] == [
            "1 Parameters",
            "2 Walk",
            "3 Configuration",
            "4 Modules",
            "5 Formulas",
            "6 Activations",
        ]
        assert {
            "1.1 Counting formulas",
            "1.2 Symbols",
            "1.3 Multiply-adds and FLOPs",
            "1.4 Memory of the weights",
            "2.1 Step by step",
            "2.2 By groups",
            "5.1 Encoder model",
            "5.8 Multi-head self-attention",
            "6.1 Sentence",
            "6.2 Per layer",
            "6.3 Token norms",
            "6.4 Output of the model",
        } <= set(headings)

    def test_every_page(self, report: Report) -> None:
        report.check_pages()
        assert len(report.pages) > 5
        for text in report.pages[1:]:
            assert text.startswith("demo BertModel ")
        assert "random weights" not in report.text

    def test_links_lead_somewhere(self, report: Report) -> None:
        last = report.reader.outline[-1]
        entries = last if isinstance(last, list) else [last]
        for entry in entries:
            assert isinstance(entry, pypdf.generic.Destination)
            number = report.reader.get_destination_page_number(entry)
            assert number is not None
            assert str(entry.title).split(" ", 1)[1] in report.pages[number]


class TestWithoutARun:
    def test_the_same_without_activations(self, plain_report: Report, report: Report) -> None:
        assert "22,713,216" in plain_report.text
        assert not any("Activations" in heading for heading in plain_report.headings())
        assert "Token norms" not in plain_report.text
        assert "encoder BertEncoder 10,646,784 46.87%" in plain_report.text
        assert len(plain_report.pages) < len(report.pages)
        plain_report.check_pages()


def random_report(name: str, sentence: Sentence) -> tuple[Report, ActivationRun]:
    model = open_model(parse_source(name))
    run = run_sentence(model, sentence, random_weights=True)
    document = build_document(model.architecture, draw_run(model.architecture, run))
    return Report.of(report_pdf(document.data, document.plots)), run


@pytest.mark.parametrize(
    ("name", "class_name", "total", "lines"),
    [
        ("gpt2", "GPT2Model", "124,439,808", {"h: output": 12}),
        ("albert-base-v2", "AlbertModel", "11,683,584", {"output": 12}),
        (
            "transformer-base",
            "TransformerBaseModel",
            "63,084,544",
            {"encoder.layers: output": 6, "decoder.layers: output": 6},
        ),
    ],
)
def test_presets_with_random_weights(
    qapp: QApplication, name: str, class_name: str, total: str, lines: dict[str, int]
) -> None:
    report, run = random_report(name, Sentence("one two", "three four"))
    assert report.pages[0].startswith(f"{name} {class_name}")
    assert f"Total params {total}" in report.pages[0]
    assert "RANDOM weights: no figure comes from training" in report.pages[0]
    assert RANDOM_NOTE in report.pages[0]
    for text in report.pages[1:]:
        assert text.startswith(f"{name} random weights ")
    for label, layers in lines.items():
        table = report.text.rpartition(f"{label} Layer mean std min max rms zero_fraction")[2]
        # Between two rows a page may end.
        assert re.match(".*?".join(rf" {n}( \S+){{6}}\b" for n in range(layers)), table)
    assert "stand-in tokenizer" in report.text
    # transformers takes GPT-2's last hidden state after the last norm.
    assert (name == "gpt2") == ("(emb) to layer 11, after ln_f." in report.text)
    for token in run.tokens:
        assert f"{token.id} · {token.segment}" in report.text
    report.check_pages()


def test_a_pair_of_sentences(demo_source: ModelSource, qapp: QApplication) -> None:
    model = open_model(demo_source)
    run = run_sentence(model, Sentence("the first one", "and a second"))
    document = build_document(model.architecture, draw_run(model.architecture, run))
    report = Report.of(report_pdf(document.data, document.plots))
    assert "6.1 Sentence the first one and a second" in report.text
    assert "and 1998 · 1" in report.text
    assert "the 1996 · 0" in report.text
    assert report.text.count("[SEP] 102") == 2


def test_a_head_that_the_checkpoint_lacks(qapp: QApplication, tiny_bert_folder: Path) -> None:
    model = open_model(parse_source(str(tiny_bert_folder), "masked-lm"))
    document = build_document(
        model.architecture, draw_run(model.architecture, run_sentence(model, Sentence("the cat")))
    )
    report = Report.of(report_pdf(document.data, document.plots))
    assert SOME_RANDOM in report.pages[0]
    assert RANDOM_NOTE not in report.text
    for text in report.pages[1:]:
        assert text.startswith(f"{tiny_bert_folder} 5 of 42 tensors random ")
    assert "random weights" not in report.text


def test_a_long_class_name_keeps_its_column(qapp: QApplication, tiny_bert_folder: Path) -> None:
    model = open_model(parse_source(str(tiny_bert_folder), "sequence-classification"))
    report = Report.of(report_pdf(build_document(model.with_formulas()).data, {}))
    # In two lines, beside a name of the same length.
    (page,) = (text for text in report.pages if "1 Parameters The parts" in text)
    assert "BertForSequence Classification" in page.partition("1 Parameters The parts")[2]
    # A part without tensors has no count.
    assert "dropout Dropout 0 0.00%" in report.text
    assert "no formula found" not in report.text


@pytest.mark.parametrize("more", [22, 23, 24, 25])
def test_no_part_of_the_walk_begins_at_the_foot_of_a_page(
    demo: tuple[Architecture, ActivationRun], more: int
) -> None:
    data = build_document(demo[0]).data
    # So many lines before it bring a part's name there.
    memory = [*data["memory"], *[["dtype", "1 MB", "1 MiB"]] * more]
    short = {**data, "formulas": [], "modules": [], "config": [], "memory": memory}
    report = Report.of(report_pdf(short, {}))
    assert "One layer, of" in report.text
    title = re.compile(r"(One layer, of [^✓]*|(The other|After the) layers [\d,]+) ✓ bertviewer")
    for text in report.pages:
        assert not title.search(text)


def test_no_number_has_a_hyphen(report: Report) -> None:
    _, _, activations = report.text.rpartition("6 Activations")
    assert "−" in activations
    assert not re.search(r"(^|\s)-\d|\de-\d", activations)
    assert "epsilon 1e−12" in report.text
    assert "from −1 to 1" in report.text


def test_a_run_full_of_nan(qapp: QApplication, tiny_bert_folder: Path) -> None:
    model = open_model(parse_source(str(tiny_bert_folder)))
    module = model.module(random_weights=False)
    with torch.inference_mode():
        bias = module.get_submodule("encoder.layer.0.output.dense").get_parameter("bias")
        bias[0] = float("nan")
    run = run_sentence(model, Sentence("the cat"))
    document = build_document(model.architecture, draw_run(model.architecture, run))
    report = Report.of(report_pdf(document.data, document.plots))
    assert re.search(r"NaN: [1-9]\d*, infinite: 0", report.text)
