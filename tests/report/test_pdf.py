"""The report as a real PDF, read back."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from bertviewer.core.building.backend import torch
from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.report.document import ReportDocument
from bertviewer.report.typesetting import report_pdf
from tests.report.conftest import OPTIONS, TEXT, document_of, subject_of
from tests.report.reading import Report, squeezed

RANDOM_NOTE = "The activations in this report come from random weights."

Opened = Callable[..., Report]


class TestDemoModel:
    def test_title_and_totals(self, report: Report) -> None:
        metadata = report.reader.metadata
        assert metadata is not None
        assert (metadata.title, metadata.author) == ("demo", "A. Student")
        assert report.pages[0].startswith("demo BertModel · Base model, no head A. Student")
        assert "31 January 2026" in report.pages[0]
        assert "Parameters 22,713,216 Trainable parameters 22,713,216" in report.text
        assert "Weights in float32 90.85 MB" in report.text

    @pytest.mark.parametrize(
        "row",
        [
            "embeddings BertEmbeddings 11,918,592 52.47%",
            "encoder BertEncoder 10,646,784 46.87%",
            "pooler BertPooler 147,840 0.65%",
            "BertModel BertModel 22,713,216 100.00%",
            # Column by column: in symbols, with numbers put in, the value.
            "pooler D² 384² 147,456 + D + 384 + 384 = 147,840",
            "hidden_size 384",
            "for B = 1, S = 11, where B is the number of sentences",
            "pooler B·D² 1·384² = 147,456 multiply-adds = 294,912 FLOPs",
            "float16, bfloat16 45.43 MB 43.32 MiB",
            "One layer (of N = 6) 1,774,464",
            "3 Token embedding embeddings.word_embeddings [B, S] [1, 11] [B, S, D] [1, 11, 384]"
            " V·D 30522·384 11,720,448",
            "9 Multi-head self-attention encoder.layer.0.attention.self"
            " encoder.layer.0.attention.output.dense [B, S, D] [1, 11, 384]"
            " [B, S, D] [1, 11, 384] 4·(D·D+D) 4·(384·384+384) 591,360",
            "17 Layers 1–5 encoder.layer.1 … 5 [B, S, D] [1, 11, 384] [B, S, D] [1, 11, 384]"
            " (N−1)·(4·D² + 2·D·I + 9·D + I) 5·1,774,464 8,872,320",
            "Blocks N·(4·(D·D+D) + 2·D + D·4D + 4D + 4D·D + D + 2·D) = N·(12·D² + 13·D) 10,646,784",
            "Total 103 tensors 22,713,216",
            "0–5 6 × BertLayer 10,646,784 46.87%",
            "query Linear 147,840 0.65% [384, 384]",
            "word_embeddings Embedding 11,720,448 51.60% [30522, 384]",
            "384 hidden size (features per token)",
            'id2label {"0": "LABEL_0", "1": "LABEL_1"}',
            TEXT,
            "122 13092 · 0",
            "##12 12521 · 0",
            "encoder.layer.5.output.LayerNorm.bias [384] float32 384",
            "Residual connection: each sub-layer's input is added",
            "Source: Vaswani et al. 2017",
        ],
    )
    def test_what_has_to_be_there(self, report: Report, row: str) -> None:
        assert squeezed(row) in squeezed(report.text).replace("’", "'")

    def test_text_in_the_plots(self, report: Report) -> None:
        words = {"Norm", "Token", "Layer", "emb", "[CLS]", "##12", "[SEP]"}
        (page,) = (text for text in report.pages if words <= set(text.split()))
        assert "The norm of each token" in page

    def test_outline_and_contents(self, report: Report) -> None:
        headings = report.headings()
        chapters = [heading for heading in headings if re.match(r"\d+ ", heading)]
        assert chapters == [
            "1 The model",
            "2 Parameters",
            "3 Computational cost and memory",
            "4 The forward pass, step by step",
            "5 What each part computes",
            "6 The sentence",
            "7 Tensor excerpts",
            "8 Attention",
            "9 Token similarity",
            "10 Checks",
            "11 Configuration",
            "12 Modules",
            "13 All parameters",
            "14 Bibliography",
        ]
        for chapter in chapters:
            assert chapter in report.pages[1]

    def test_every_page(self, report: Report) -> None:
        report.check_pages()
        for text in report.pages[1:]:
            assert text.startswith("demo BertModel ")
        assert "random weights" not in report.text

    def test_links_lead_somewhere(self, report: Report) -> None:
        for entry in report.reader.outline:
            if isinstance(entry, list):
                continue
            number = report.reader.get_destination_page_number(entry)
            assert number is not None
            assert str(entry.title).split(" ", 1)[1] in report.pages[number]
        annotations = [a for page in report.reader.pages for a in page.get("/Annots", ())]
        # The contents, and every reference to a table or a figure.
        assert len(annotations) > 30

    def test_no_number_has_a_hyphen(self, report: Report) -> None:
        _, _, run = report.text.rpartition("6 The sentence")
        run = run.partition("11 Configuration")[0]
        assert "−" in run
        assert not re.search(r"(^|\s)-\d|\de-\d", run)
        assert "from −1 to 1" in report.text

    def test_the_same_document_gives_the_same_bytes(self, document: ReportDocument) -> None:
        assert report_pdf(document) == report_pdf(document)

    def test_letter_has_other_pages(self, document: ReportDocument) -> None:
        pages = Report.of(report_pdf(document, "letter")).reader.pages
        assert [round(float(x)) for x in pages[0].mediabox[2:]] == [612, 792]


def test_without_a_run_there_is_the_same_without_its_chapters(
    plain_report: Report, report: Report
) -> None:
    assert "22,713,216" in plain_report.text
    assert not any("sentence" in heading for heading in plain_report.headings())
    assert "Token norms" not in plain_report.text
    assert "encoder BertEncoder 10,646,784 46.87%" in plain_report.text
    assert len(plain_report.pages) < len(report.pages)
    plain_report.check_pages()


@pytest.mark.parametrize(
    ("name", "class_name", "total", "layers"),
    [
        ("gpt2", "GPT2Model", "124,439,808", 12),
        ("albert-base-v2", "AlbertModel", "11,683,584", 12),
        ("transformer-base", "TransformerBaseModel", "63,084,544", 6),
    ],
)
def test_presets_with_random_weights(
    opened_report: Opened, name: str, class_name: str, total: str, layers: int
) -> None:
    # Checking all of a large model takes most of the time, and is read back of the demo.
    report = opened_report(name, "one two", "three four", random=True, is_checked=False)
    assert report.pages[0].startswith(f"{name} {class_name}")
    assert f"Parameters {total}" in report.text
    assert "randomly initialised weights (seed 0); no value reflects training" in report.pages[0]
    assert RANDOM_NOTE in report.pages[0]
    for text in report.pages[1:]:
        assert text.startswith(f"{name} random weights ")
    assert "placeholder tokenizer" in report.text
    # transformers takes GPT-2's last hidden state after the last norm.
    assert (name == "gpt2") == ("(emb) to layer 11, after ln_f." in report.text)
    report.check_pages()


def test_a_pair_of_sentences(demo_source: object, opened_report: Opened) -> None:
    report = opened_report("demo", "the first one", "and a second")
    assert "the first one and a second" in report.text
    assert "and 1998 · 1" in report.text
    assert "the 1996 · 0" in report.text


def test_a_head_that_the_checkpoint_lacks(opened_report: Opened, tiny_bert_folder: Path) -> None:
    report = opened_report(str(tiny_bert_folder), "the cat", task="masked-lm")
    some = "5 of 42 tensors are missing from the checkpoint and were initialised randomly: results"
    assert some in report.pages[0]
    assert RANDOM_NOTE not in report.text
    for text in report.pages[1:]:
        assert "5 of 42 tensors random " in text
    assert "random weights" not in report.text


@pytest.mark.usefixtures("nothing_was_seen")
def test_a_model_without_formulas(opened_report: Opened, tiny_bert_folder: Path) -> None:
    report = opened_report(str(tiny_bert_folder), has_formulas=False)
    assert "Parameter count by component" in report.text
    assert "Counting formulas" not in report.text
    report.check_pages()


@pytest.mark.usefixtures("qapp")
def test_a_run_full_of_nan(tiny_bert_folder: Path) -> None:
    model = open_model(parse_source(str(tiny_bert_folder)))
    module = model.module(random_weights=False)
    with torch.inference_mode():
        bias = module.get_submodule("encoder.layer.0.output.dense").get_parameter("bias")
        bias[0] = float("nan")
    document = document_of(subject_of(model, Sentence("the cat")))
    report = Report.of(report_pdf(document))
    assert re.search(
        r"All modules together produced [1-9][\d,]* NaNs and 0 infinite values", report.text
    )


COUNTS = replace(OPTIONS, sections=("model", "parameters", "costs", "walk", "modules", "tensors"))


@pytest.mark.parametrize(
    ("name", "task", "numbers"),
    [
        (
            "bert-base-uncased",
            "base",
            (
                *("109,482,240", "199", "21.77%", "77.69%", "0.54%", "12 × BertLayer"),
                *("for B = 1, S = 128", "22,348,431,360 FLOPs", "11,174,215,680 multiply-adds"),
                *("encoder.layer.0 16 tensors", "embeddings 5 tensors", "pooler 2 tensors"),
            ),
        ),
        (
            "bert-base-chinese",
            "masked-lm",
            (
                *("16,622,592", "85,054,464", "102,290,312", "202", "N·(12·D² + 13·D)"),
                *(
                    "V·D + 2·D + L·D + 2·D",
                    "21128",
                    "tied to bert.embeddings.word_embeddings.weight",
                ),
            ),
        ),
        (
            "bert-large-chinese",
            "base",
            (
                *("21,635,072", "2,048", "524,288", "4,198,400", "8,393,728", "12,596,224"),
                *("22,163,456", "324,472,832", "325,522,432", "1,049,600", "(N−1)"),
                *("1 Token IDs", "2 Segment IDs", "5 Add", "9 Multi-head self-attention"),
                *("16 Norm", "17 Layers 1–23"),
            ),
        ),
        ("bert-base-uncased", "sequence-classification", ("109,483,778", "1,538")),
        ("bert-base-uncased", "masked-lm", ("109,514,298",)),
        ("bert-base-uncased", "pretraining", ("110,106,428",)),
        ("bert-large-uncased", "base", ("335,141,888",)),
        ("roberta-base", "base", ("124,645,632",)),
        ("distilbert-base-uncased", "base", ("66,362,880",)),
        ("gpt2", "base", ("124,439,808", "Total 148 tensors")),
        ("transformer-base", "base", ("44,140,544",)),
    ],
)
def test_the_numbers_that_the_study_notes_have(
    opened_report: Opened, name: str, task: str, numbers: tuple[str, ...]
) -> None:
    text = squeezed(opened_report(name, task=task, options=COUNTS).text)
    for number in numbers:
        assert squeezed(number) in text, number


def test_what_the_study_notes_say_of_a_run(report: Report) -> None:
    text = squeezed(report.text)
    for said in (
        "11 tokens",
        *("101 · 0", "2023 · 0", "13092 · 0", "12521 · 0", "2487 · 0", "3231 · 0", "102 · 0"),
        *("There are 7 hidden states", "[1, 11, 384] float32", "= next hidden state"),
        *("hidden_act", '"gelu"', "layer_norm_eps", "1e-12"),
        "Mean and variance are computed per position",
        "PyTorch divides by √(variance + ε)",
        "features has its own γ and β",
    ):
        assert squeezed(said) in text, said
