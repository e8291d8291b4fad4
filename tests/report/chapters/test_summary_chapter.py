"""The summary on the first page: key figures, findings, health and caveats."""

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QApplication

from bertviewer.core.checkpoints.quantization import Quantization
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.check import Check
from bertviewer.report.blocks import Facts, Points, Tick
from bertviewer.report.chapters.summary import summary
from bertviewer.report.findings import MAX_FINDINGS, findings, why_no_findings
from bertviewer.report.options import PAPERS, Paper
from bertviewer.report.subject import Subject
from bertviewer.report.typesetting import report_pdf
from tests.core.checks.small_models import small_model
from tests.core.opened import derived
from tests.report.conftest import OPTIONS, document_of, subject_of
from tests.report.reading import Report, drafted, each, words

ONLY = replace(OPTIONS, sections=("summary",))


def text_of(subject: Subject) -> str:
    return words(drafted(summary, subject))


def figures(subject: Subject) -> dict[str, str]:
    (facts,) = each(drafted(summary, subject), Facts)
    return {name: words(text) for name, text in facts.pairs}


def health(subject: Subject) -> str:
    return text_of(subject).partition("Health: ")[2].partition(".Caveats")[0]


@pytest.mark.parametrize(
    ("name", "task", "expected"),
    [
        (
            "bert-base-uncased",
            "base",
            {
                "Parameters": "109,482,240 in 199 tensors, all trainable",
                "Weights": "437.93 MB in float32; 218.96 MB in float16, bfloat16; 109.48 MB in "
                "int8; 54.74 MB in int4",
                # 16 bytes for each of 109,482,240 parameters
                "Training memory": "1.75 GB in float32 for weights, gradients and Adam’s two "
                "moments, without activations",
                # 22,348,431,360 FLOPs are half as many multiply-adds
                "Multiply-adds": "11.2\xa0G for 128 tokens, 87.3\xa0M per token",
                "Maximum length": "512 tokens, the rows of the position embeddings",
                "Vocabulary": "30,522 entries",
            },
        ),
        (
            "gpt2",
            "causal-lm",
            {
                "Parameters": "124,439,808 in 148 tensors, all trainable; 1 tied name is not "
                "counted",
                # 2 · 12 layers · 768 features · 2 bytes
                "KV cache": "36,864 bytes per token, in float16",
                "Maximum length": "1,024 tokens, the rows of the position embeddings",
            },
        ),
        ("transformer-base", "base", {"Vocabulary": "37,000 entries"}),
    ],
)
def test_key_figures(name: str, task: str, expected: dict[str, str]) -> None:
    assert figures(Subject(derived(name, task))).items() >= expected.items()


def test_frozen_parameters_need_no_gradients(demo: Subject) -> None:
    root = demo.architecture.root
    frozen = replace(root, trainable=1_000_000)
    modules = (frozen, *demo.architecture.modules[1:])
    found = figures(Subject(replace(demo.architecture, modules=modules)))
    assert found["Parameters"].endswith("1,000,000 trainable")
    assert found["Training memory"].startswith(f"{(root.parameters * 4 + 12e6) / 1e6:.2f} MB")


@pytest.mark.parametrize(
    ("name", "task", "sentence"),
    [
        ("bert-base-uncased", "base", "It is opened without a task head"),
        (
            "bert-base-uncased",
            "sequence-classification",
            "Its task head, classifier, adds 1,538 parameters to the 109,482,240 of the base model",
        ),
        (
            "gpt2",
            "causal-lm",
            "Its task head, lm_head, adds none (its weights are tied) to the 124,439,808",
        ),
        ("transformer-base", "base", "In TransformerBaseModel, the encoder reads one sequence"),
        ("albert-base-v2", "base", "one layer of class AlbertLayerGroup applied 12 times"),
    ],
)
def test_the_model_in_sentences(name: str, task: str, sentence: str) -> None:
    assert sentence in text_of(Subject(derived(name, task)))


def test_findings_have_the_numbers_of_the_run(demo: Subject) -> None:
    found = findings(demo)
    assert len(found) == MAX_FINDINGS
    assert demo.details.attention is not None
    (best, layer, head) = max(
        (float(value), layer.name, head)
        for layer, measures in demo.details.attention.measures.items()
        for head, value in enumerate(measures["previous"])
    )
    share = "over 99%" if 0.995 <= best < 1 else f"{best:.0%}"
    sentence = f"Head {head} of {layer} attends mostly to the previous token: {share} on average."
    assert found[0] == sentence
    (points,) = each(drafted(summary, demo), Points)
    assert tuple(map(words, points.points)) == found


def test_findings_on_a_pair_and_without_a_run(demo_pair: Subject) -> None:
    text = " ".join(findings(demo_pair))
    assert "unrelated sentences" not in text  # it is a single sentence with a baseline
    assert findings(Subject(demo_pair.architecture)) == ()
    assert "Findings" not in text_of(Subject(demo_pair.architecture))


def test_the_prediction_comes_first(demo_model: LoadedModel) -> None:
    pair = subject_of(demo_model, Sentence("the bank of the river", "the bank raised the rate"))
    assert any("unrelated sentences" in finding for finding in findings(pair))
    assert pair.run is not None
    outputs = {"logits": np.array([[-1.0, 3.0]])}
    source = replace(pair.run.source, task="sequence-classification")
    classified = replace(pair, run=replace(pair.run, outputs=outputs, source=source))
    assert findings(classified)[0] == "The model predicts “LABEL_1” with a probability of 98%."


def test_premises_of_findings(demo: Subject) -> None:
    assert demo.run is not None
    states = tuple(np.ones_like(state) for state in demo.run.hidden_states)
    norms = tuple((1.0,) * len(row) for row in demo.run.token_norms)
    flat = replace(
        demo,
        run=replace(demo.run, hidden_states=states, token_norms=norms),
        details=replace(demo.details, attention=None, padding=None),
    )
    assert findings(flat) == ()
    assert "Nothing in this run stands out." in text_of(flat)


def test_no_findings_from_random_weights() -> None:
    subject = subject_of(small_model("gpt2"), Sentence("one two three four five"), random=True)
    assert findings(subject) == ()
    assert why_no_findings(subject).startswith("The weights are random")
    assert why_no_findings(subject) in text_of(subject)
    assert "a placeholder tokenizer" in text_of(subject).partition("Caveats")[2]


def test_no_findings_from_random_tensors_in_layers(masked: Subject) -> None:
    assert why_no_findings(masked) == ""  # only the head is random
    assert masked.run is not None
    names = ("bert.encoder.layer.0.attention.self.query.weight",)
    source = replace(masked.run.source, random_tensors=names)
    subject = replace(masked, run=replace(masked.run, source=source))
    assert why_no_findings(subject) == "The layers use random tensors, so no findings are given."


def test_no_findings_from_nan(demo: Subject) -> None:
    assert demo.run is not None
    modules = tuple(
        replace(module, calls=(replace(module.calls[0], nan_count=2),))
        if module.path == "encoder.layer.3"
        else module
        for module in demo.run.modules
    )
    subject = replace(demo, run=replace(demo.run, modules=modules))
    assert "NaN" in why_no_findings(subject)
    assert "2 NaN and 0 infinite values" in health(subject)


def test_health(demo: Subject, masked: Subject) -> None:
    assert demo.run is not None
    assert demo.run.check is not None
    steps = demo.run.check.steps
    assert f"{len(steps)} checks passed · " in health(demo)
    assert "no tensor missing or random · no tied tensors · not quantized" in health(demo)
    assert all(tick.holds for tick in ticks(demo))
    failed = Check((replace(steps[0], ok=False), *steps[1:]))
    subject = replace(demo, run=replace(demo.run, check=failed))
    assert f"1 of {len(steps)} checks failed" in health(subject)
    assert not all(tick.holds for tick in ticks(subject))
    assert "5 of 42 tensors missing · 2 tied names" in health(masked)
    quantized = replace(demo.architecture.source, quantization=Quantization("gptq", 4, 7))
    subject = replace(demo, architecture=replace(demo.architecture, source=quantized))
    assert "quantized (GPTQ, 4 bits)" in health(subject)


def ticks(subject: Subject) -> list[Tick]:
    blocks = drafted(summary, subject).blocks
    return [
        span for block in blocks for span in getattr(block, "text", ()) if isinstance(span, Tick)
    ]


def test_caveats(demo: Subject) -> None:
    assert "Caveats" not in text_of(demo)
    assert demo.run is not None
    full = replace(
        demo.run,
        sentence=Sentence("a", cut=True),
        tokens=(demo.run.tokens * 47)[:512],
        tokenizer="bert",
        hidden_states=(),
        token_norms=(),
    )
    caveats = text_of(replace(demo, run=full, details=Subject(demo.architecture).details))
    assert "The text was truncated to 512 tokens, the maximum length of the model." in caveats
    assert "BERT’s tokenizer: the model comes with a vocab.txt" in caveats


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("paper", PAPERS)
def test_the_summary_fits_on_one_page(paper: Paper, demo: Subject) -> None:
    assert demo.run is not None
    long = replace(
        demo,
        run=replace(demo.run, sentence=Sentence("word " * 2000, "Wort " * 2000), tokenizer="bert"),
        architecture=replace(
            demo.architecture,
            modules=(
                replace(demo.architecture.root, class_name="A" * 300),
                *demo.architecture.modules[1:],
            ),
        ),
    )
    options = replace(ONLY, title="A long title " * 40, author="An author " * 20)
    for subject, chosen in ((demo, ONLY), (long, options)):
        report = Report.of(report_pdf(document_of(subject, chosen), paper))
        assert len(report.pages) == 1
        assert report.pages[0].endswith("1 / 1")
        assert "Contents" not in report.pages[0]
        assert "Health" in report.pages[0]


def test_a_report_without_a_summary_begins_with_the_contents(
    demo: Subject, qapp: QApplication, tmp_path: Path
) -> None:
    options = replace(OPTIONS, sections=("model", "costs"))
    report = Report.of(report_pdf(document_of(demo, options)))
    assert "Contents 1 The model" in report.pages[0]
    single = Report.of(report_pdf(document_of(demo, replace(options, sections=("costs",)))))
    assert "2026 1 Computational cost and memory" in single.pages[0]
