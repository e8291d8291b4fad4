"""A model, a run and a comparison as text; golden files are in tests/golden."""

import csv as csv_module
import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from bertviewer.core.comparison.comparison import Change, compare_architectures
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ActivationRun, Sentence, Token
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.costs import Costs, ModuleCosts
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.schema.statistics import Statistics
from bertviewer.core.sources.parsing import parse_source
from bertviewer.report.run_text import run_text, tokenizer_note
from bertviewer.report.summary import (
    comparison_text,
    csv,
    markdown,
    number,
    provenance,
    random_weights_warning,
    text,
)
from tests.core.opened import plain


@pytest.fixture(scope="module")
def tiny(tiny_bert_folder: Path) -> Architecture:
    """Return a masked language model with tied weights."""
    architecture = open_model(parse_source(str(tiny_bert_folder), "masked-lm")).architecture
    return replace(architecture, source=replace(architecture.source, name="tiny"))


@pytest.fixture(scope="module")
def run(tiny_bert_folder: Path) -> ActivationRun:
    return run_sentence(open_model(parse_source(str(tiny_bert_folder))), Sentence("the cat", "a"))


def table_rows(table: str) -> list[dict[str, str]]:
    return list(csv_module.DictReader(io.StringIO(table)))


def columns(line: str) -> list[str]:
    return re.split(r" {2,}", line.strip())


def test_a_small_model_in_all_formats(
    tiny: Architecture, golden: Callable[[str, str], None]
) -> None:
    golden("tiny-bert.txt", text(tiny, None, True) + "\n")
    golden("tiny-bert.md", markdown(tiny, None, True) + "\n")
    golden("tiny-bert.csv", f"{csv(tiny, None, False)}\n{csv(tiny, None, True)}\n")


def test_any_path_is_read_back_from_csv(tiny: Architecture) -> None:
    name = 'a,b "quoted"\nline; =1+1'
    odd = replace(tiny, modules=(replace(tiny.root, path=name), *tiny.modules[1:]))
    first, *others = table_rows(csv(odd, None, False))
    assert first["path"] == name
    assert sum(int(row["own_parameters"]) for row in others) == tiny.root.parameters


def test_depth(demo_model: LoadedModel) -> None:
    demo = demo_model.architecture
    for depth, count in ((0, 1), (1, 4), (2, 12), (3, 13), (None, 30), (99, 30)):
        table = text(demo, depth, False).split("\n\n")[1].splitlines()
        assert len(table) == 2 + count, depth
        deepest = max(len(line) - len(line.lstrip()) for line in table[2:]) // 2
        assert deepest == min(6 if depth is None else depth, 6)
    paths = [row["path"] for row in table_rows(csv(demo, 1, False))]
    assert paths == ["", "embeddings", "encoder", "pooler"]


def test_frozen_tensors(tiny: Architecture) -> None:
    frozen = replace(tiny, parameters=tuple(replace(t, trainable=False) for t in tiny.parameters))
    assert " no" in text(frozen, 0, True)
    assert {row["trainable"] for row in table_rows(csv(frozen, None, True))} == {"False"}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a|b", r"a\|b"),
        ("<script>", r"\<script\>"),
        ("[x](y)", r"\[x\](y)"),
        ("**b** `c` $m$ #h", r"\*\*b\*\* \`c\` \$m\$ \#h"),
        ("back\\slash", r"back\\slash"),
        ("two\nlines", "two lines"),
    ],
)
def test_names_are_not_markdown(tiny: Architecture, name: str, shown: str) -> None:
    odd = replace(
        tiny,
        source=replace(tiny.source, name=name),
        modules=(replace(tiny.root, class_name=name), *tiny.modules[1:]),
    )
    lines = markdown(odd, 0, False).splitlines()
    assert lines[0] == f"# {shown}"
    assert lines[2].startswith(f"Folder {shown}".replace(" lines", r"\\nlines"))
    assert f"| {shown} | {shown} |" in "\n".join(lines)
    assert [line for line in lines if line.startswith("# ")] == [f"# {shown}"]


def test_missing_multiply_adds_have_a_reason(tiny: Architecture) -> None:
    without = Costs((), {"": ModuleCosts(None, None, None, "a.b: it moves")}, ())
    for costs, reason in (
        (without, "a.b: it moves"),
        (Costs((), {}, (), reason="it is too loud"), "it is too loud"),
    ):
        shown = text(replace(tiny, costs=costs, flows=None), None, with_parameters=False)
        assert shown.splitlines()[-1] == f"Mult-Adds: no formula found: {reason}"
    known = Costs((), {"": ModuleCosts("6", None, None)}, ())
    for architecture in (replace(tiny, costs=None), replace(tiny, costs=known)):
        assert "Mult-Adds" not in text(architecture, None, with_parameters=False)


def test_tokens_and_statistics_of_a_run(run: ActivationRun) -> None:
    start, tokens, modules, end = run_text(replace(run, seconds_forward=0.01234)).split("\n\n")
    assert start.splitlines() == [provenance(run.source), "6 tokens"]
    assert end == "Forward: 12.3 ms"
    header, _, *lines = map(columns, tokens.splitlines())
    assert header == ["Id", "Token", "Segment"]
    assert lines == [[str(token.id), token.text, str(token.segment)] for token in run.tokens]
    assert [segment for *_, segment in lines] == ["0", "0", "0", "0", "1", "1"]
    header, _, *lines = map(columns, modules.splitlines())
    names = ["mean", "std", "min", "max", "rms", "zero_fraction"]
    assert header == ["Module", "Output Shape", *names, "NaN+Inf"]
    for module, line in zip(run.modules, lines, strict=True):
        of = module.statistics
        figures = (of.mean, of.std, of.min, of.max, of.rms, of.zero_fraction)
        name, shape = module.path or "BertModel", shape_text(module.output_shape)
        assert line == [name, shape, *(f"{figure:.5g}" for figure in figures), "0"]


def test_a_run_with_nan_and_another_tokenizer(run: ActivationRun) -> None:
    nothing = Statistics(10, 7, 3, 0, 0.0, 0.0, None, None)
    broken = replace(run, modules=(replace(run.modules[0], calls=(nothing,)),))
    line = run_text(broken).split("\n\n")[2].splitlines()[-1]
    assert columns(line)[2:] == ["–", "–", "–", "–", "–", "0", "10"]
    note = tokenizer_note(replace(run, tokenizer="stand-in", tokens=(Token(1, "a", 0),)))
    assert note.startswith("1 token from a placeholder tokenizer")
    figures = (None, 0.0, 1.0, -0.0123456, 123456.7)
    assert [*map(number, figures)] == ["–", "0", "1", "-0.012346", "1.2346e+05"]


DEMO = "Demo model (sentence-transformers/all-MiniLM-L6-v2)"
MISSING = "tensors are missing from the checkpoint and initialised randomly"


@pytest.mark.parametrize(
    ("source", "line", "warning", "short"),
    [
        (
            SourceInfo("demo", "demo", "base", "pretrained"),
            f"{DEMO} · Base model, no head · pretrained weights",
            "",
            "",
        ),
        (
            SourceInfo("preset", "gpt2", "base", "none"),
            "Preset gpt2 · Base model, no head · no weights",
            "",
            "",
        ),
        (
            SourceInfo("demo", "demo", "masked-lm", "pretrained", ("x", "y", "z")),
            f"{DEMO} · Masked language modelling · pretrained weights, but 3 {MISSING}",
            "3 of 42 tensors are missing from the checkpoint and were initialised randomly: "
            "results that use them are not meaningful.",
            "3 of 42 tensors random",
        ),
        (
            SourceInfo("folder", "a", "masked-lm", "pretrained", ("x",)),
            "Folder a · Masked language modelling · pretrained weights, but 1 tensor is missing "
            "from the checkpoint and initialised randomly",
            "1 of 42 tensors is missing from the checkpoint and was initialised randomly: "
            "results that use it are not meaningful.",
            "1 of 42 tensors random",
        ),
        (
            SourceInfo("preset", "gpt2", "base", "random"),
            "Preset gpt2 · Base model, no head · randomly initialised weights (seed 0); "
            "no value reflects training",
            "The activations in this report come from random weights. They show how the "
            "architecture behaves, not what a trained model has learned.",
            "random weights",
        ),
    ],
)
def test_origin_and_warning(source: SourceInfo, line: str, warning: str, short: str) -> None:
    assert provenance(source) == line
    found = random_weights_warning(source, 42)
    assert (("", "") if found is None else (found.text, found.short)) == (warning, short)


def test_a_comparison_lists_what_differs() -> None:
    found = compare_architectures(plain("bert-base-uncased"), plain("bert-base-uncased"))
    same = Change(8, 8, 0.0, 0.0, 0.0, 1.0)
    tensors = [replace(tensor, change=same) for tensor in found.tensors]
    tensors[3] = replace(tensors[3], change=Change(5, 8, 0.25, 0.1, 0.003, 0.9))
    lines = comparison_text(replace(found, tensors=tuple(tensors))).splitlines()
    origin = "Preset bert-base-uncased · Base model, no head · no weights"
    assert lines[0] == f"Left:  {origin} · 109,482,240 parameters"
    assert lines[2] == "Tensors: 1 changed, 198 same"
    name, *cells = lines[-1].split()
    assert name == "embeddings.LayerNorm.weight"
    assert cells == ["changed", *("[768]", "float32") * 2, "0.003", "0.25", "3"]
    assert len(lines) == 7
    sizes = compare_architectures(plain("bert-base-uncased"), plain("bert-large-uncased"))
    lines = comparison_text(sizes).splitlines()
    assert "Tensors: 199 other shape, 192 only right" in lines
    assert ["hidden_size", "768", "1024"] in [line.split() for line in lines]
