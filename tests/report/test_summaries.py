"""The same model as text, as CSV and as Markdown, and a run as text."""

import csv as csv_module
import io
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ActivationRun, Sentence, Token
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.costs import Costs, ModuleCosts
from bertviewer.core.schema.statistics import Statistics
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import parse_source
from bertviewer.report.run_text import run_text, tokenizer_note
from bertviewer.report.summary import csv, markdown, number, provenance, text, totals


@pytest.fixture(scope="module")
def demo(demo_source: ModelSource) -> Architecture:
    return open_model(demo_source).architecture


@pytest.fixture(scope="module")
def tiny(tiny_bert_folder: Path) -> Architecture:
    return open_model(parse_source(str(tiny_bert_folder), "masked-lm")).architecture


@pytest.fixture(scope="module")
def run(tiny_bert_folder: Path) -> ActivationRun:
    return run_sentence(open_model(parse_source(str(tiny_bert_folder))), Sentence("the cat", "a"))


def rows(table: str) -> list[dict[str, str]]:
    return list(csv_module.DictReader(io.StringIO(table)))


def columns(line: str) -> list[str]:
    return re.split(r" {2,}", line.strip())


class TestText:
    def test_totals(self, demo: Architecture) -> None:
        assert text(demo, 0, False).splitlines()[-8:] == [
            "Total params: 22,713,216",
            "Trainable params: 22,713,216",
            "Tensors: 103",
            "Modules: 120",
            "Weights in float32: 90.85 MB",
            "Weights in float16: 45.43 MB",
            "Weights in int8: 22.71 MB",
            "Weights in int4: 11.36 MB",
        ]

    def test_first_lines(self, demo: Architecture) -> None:
        lines = text(demo, None, False).splitlines()
        assert lines[0] == provenance(demo.source)
        assert columns(lines[2]) == ["Module", "Class", "Parameters", "Share", "Shape"]
        assert set(lines[3]) == {"─", " "}
        assert columns(lines[4]) == ["BertModel", "BertModel", "22,713,216", "100.00%"]
        assert columns(lines[5]) == ["embeddings", "BertEmbeddings", "11,918,592", "52.47%"]
        assert columns(lines[6])[-1] == "[30522, 384]"

    def test_depth(self, demo: Architecture) -> None:
        for depth, count in ((0, 1), (1, 4), (2, 12), (3, 13), (None, 30), (99, 30)):
            table = text(demo, depth, False).split("\n\n")[1].splitlines()
            assert len(table) == 2 + count, depth
            deepest = max(len(line) - len(line.lstrip()) for line in table[2:]) // 2
            assert deepest == min(6 if depth is None else depth, 6)

    def test_columns_line_up(self, demo: Architecture) -> None:
        header, rule, *body = text(demo, None, False).split("\n\n")[1].splitlines()
        end = header.index("Share") + len("Share")
        assert len(rule) == max(map(len, body))
        assert all(line[:end].endswith("%") for line in body)

    def test_parameters(self, tiny: Architecture) -> None:
        table = text(tiny, 0, True).split("\n\n")[2].splitlines()
        assert columns(table[0]) == ["Name", "Shape", "Elements", "Dtype", "Trainable", "Tied to"]
        assert len(table) == 2 + len(tiny.parameters)
        assert columns(table[2]) == [
            "bert.embeddings.word_embeddings.weight",
            "[200, 32]",
            "6,400",
            "float32",
            "yes",
        ]
        (tied,) = (line for line in table if line.startswith("cls.predictions.decoder.weight"))
        assert columns(tied)[-1] == "bert.embeddings.word_embeddings.weight"

    def test_frozen_tensors(self, tiny: Architecture) -> None:
        frozen = replace(
            tiny, parameters=tuple(replace(t, trainable=False) for t in tiny.parameters)
        )
        assert " no" in text(frozen, 0, True)
        assert " no" not in text(tiny, 0, True).split("\n\n")[2]


class TestCsv:
    def test_modules(self, demo: Architecture) -> None:
        found = rows(csv(demo, None, False))
        assert len(found) == 120
        assert found[0] == {
            "path": "",
            "class": "BertModel",
            "depth": "0",
            "parameters": "22713216",
            "own_parameters": "0",
            "trainable": "22713216",
            "share": "1.0",
        }
        assert sum(int(row["own_parameters"]) for row in found) == 22_713_216
        parts = [row for row in found if row["depth"] == "1"]
        assert sum(int(row["parameters"]) for row in parts) == 22_713_216
        assert sum(float(row["share"]) for row in parts) == pytest.approx(1, abs=1e-12)

    def test_depth(self, demo: Architecture) -> None:
        found = rows(csv(demo, 1, False))
        assert [row["path"] for row in found] == ["", "embeddings", "encoder", "pooler"]

    def test_parameters(self, tiny: Architecture) -> None:
        found = rows(csv(tiny, None, True))
        assert [row["name"] for row in found] == [tensor.name for tensor in tiny.parameters]
        counted = sum(int(row["numel"]) for row in found if not row["tied_to"])
        assert counted == tiny.root.parameters
        assert found[0]["shape"] == "[200, 32]"
        assert {row["trainable"] for row in found} == {"True"}
        assert sum(bool(row["tied_to"]) for row in found) == 2

    def test_odd_names_come_back(self, tiny: Architecture) -> None:
        name = 'a,b "quoted"\nline; =1+1'
        odd = replace(tiny, modules=(replace(tiny.root, path=name), *tiny.modules[1:]))
        assert rows(csv(odd, None, False))[0]["path"] == name


class TestMarkdown:
    def test_tables(self, demo: Architecture) -> None:
        lines = markdown(demo, 1, False).splitlines()
        assert lines[0] == "# demo"
        assert lines[2] == provenance(demo.source)
        assert lines[4:7] == [
            "| Module | Class | Parameters | Share | Shape |",
            "| --- | --- | --- | --- | --- |",
            "| BertModel | BertModel | 22,713,216 | 100.00% |  |",
        ]
        assert lines[7].startswith("| &nbsp;&nbsp;embeddings | BertEmbeddings | 11,918,592 |")
        assert "| Total params | 22,713,216 |" in lines

    def test_every_row_of_a_table_has_its_columns(self, tiny: Architecture) -> None:
        tables = markdown(tiny, None, True).split("\n\n")[2:]
        assert [len(table.splitlines()[2:]) for table in tables] == [
            len(text(tiny, None, False).split("\n\n")[1].splitlines()) - 2,
            8,
            len(tiny.parameters),
        ]
        for table in tables:
            bars = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
            assert len(bars) == 1

    def test_shapes_and_underscores_are_escaped(self, tiny: Architecture) -> None:
        found = markdown(tiny, None, False)
        assert r"word\_embeddings | Embedding | 6,400 |" in found
        assert r"| \[200, 32\] |" in found

    def test_hostile_names(self, tiny: Architecture) -> None:
        for name, shown in (
            ("a|b", r"a\|b"),
            ("<script>", r"\<script\>"),
            ("[x](y)", r"\[x\](y)"),
            ("**b** `c` $m$ #h", r"\*\*b\*\* \`c\` \$m\$ \#h"),
            ("back\\slash", r"back\\slash"),
            ("two\nlines", "two lines"),
        ):
            odd = replace(
                tiny,
                source=replace(tiny.source, name=name),
                modules=(replace(tiny.root, class_name=name), *tiny.modules[1:]),
            )
            lines = markdown(odd, 0, False).splitlines()
            assert lines[0] == f"# {shown}"
            assert f"| {shown} | {shown} |" in "\n".join(lines)

    def test_a_hostile_name_in_the_line_about_the_model(self, tiny: Architecture) -> None:
        odd = replace(tiny, source=replace(tiny.source, name="<img src=x>\n# not a heading"))
        found = markdown(odd, 0, False)
        assert "<img" not in found.replace("\\<", "")
        assert [line for line in found.splitlines() if line.startswith("# ")] == [
            r"# \<img src=x\> \# not a heading"
        ]


class TestRunText:
    def test_tokens(self, run: ActivationRun) -> None:
        _, tokens, _, _ = run_text(run).split("\n\n")
        header, _, *lines = tokens.splitlines()
        assert columns(header) == ["Id", "Token", "Segment"]
        assert [columns(line) for line in lines] == [
            [str(token.id), token.text, str(token.segment)] for token in run.tokens
        ]
        assert columns(lines[0]) == ["2", "[CLS]", "0"]
        assert [columns(line)[2] for line in lines] == ["0", "0", "0", "0", "1", "1"]

    def test_modules(self, run: ActivationRun) -> None:
        table = run_text(run).split("\n\n")[2].splitlines()
        assert columns(table[0]) == [
            "Module",
            "Output Shape",
            "mean",
            "std",
            "min",
            "max",
            "rms",
            "zero_fraction",
            "NaN+Inf",
        ]
        assert len(table) == 2 + len(run.modules)
        assert columns(table[2])[0] == "BertModel"
        for module, line in zip(run.modules, table[2:], strict=True):
            of = module.statistics
            figures = (of.mean, of.std, of.min, of.max, of.rms, of.zero_fraction)
            assert columns(line) == [
                module.path or "BertModel",
                shape_text(module.output_shape),
                *(f"{figure:.5g}" for figure in figures),
                "0",
            ]

    def test_first_and_last_line(self, run: ActivationRun) -> None:
        lines = run_text(replace(run, seconds_forward=0.01234)).splitlines()
        assert lines[:2] == [provenance(run.source), "6 tokens"]
        assert lines[-1] == "Forward: 12.3 ms"

    def test_nan_and_inf(self, run: ActivationRun) -> None:
        nothing = Statistics(10, 7, 3, 0, 0.0, 0.0, None, None)
        broken = replace(run, modules=(replace(run.modules[0], calls=(nothing,)),))
        line = run_text(broken).split("\n\n")[2].splitlines()[-1]
        assert columns(line)[2:] == ["–", "–", "–", "–", "–", "0", "10"]

    def test_stand_in_tokens_are_told(self, run: ActivationRun) -> None:
        note = tokenizer_note(replace(run, tokenizer="stand-in", tokens=(Token(1, "a", 0),)))
        assert note.startswith("1 token from a placeholder tokenizer")


def test_provenance(demo: Architecture) -> None:
    demo_model = "Demo model (sentence-transformers/all-MiniLM-L6-v2)"
    assert provenance(demo.source) == f"{demo_model} · Base model, no head · pretrained weights"
    lacking = open_model(parse_source("demo", "masked-lm")).architecture.source
    assert provenance(lacking) == (
        f"{demo_model} · Masked language modelling · pretrained weights,"
        " but 5 tensors are missing from the checkpoint and initialised randomly"
    )
    preset = open_model(parse_source("gpt2")).architecture.source
    assert provenance(preset) == "Preset gpt2 · Base model, no head · no weights"
    assert provenance(replace(preset, weights="random")) == (
        "Preset gpt2 · Base model, no head · randomly initialised weights (seed 0); "
        "no value reflects training"
    )


def test_totals_of_a_small_model(tiny: Architecture) -> None:
    found = {row[0]: row[1] for row in totals(tiny)}
    assert found["Total params"] == f"{tiny.root.parameters:,}"
    assert found["Tensors"] == str(len(tiny.parameters) - 2)
    assert found["Modules"] == str(len(tiny.modules))


def test_numbers() -> None:
    figures = (None, 0.0, 1.0, -0.0123456, 123456.7)
    assert [*map(number, figures)] == ["–", "0", "1", "-0.012346", "1.2346e+05"]


def test_a_root_without_multiply_adds_says_why(tiny: Architecture) -> None:
    without = Costs((), {"": ModuleCosts(None, None, None, "a.b: it moves")}, ())
    for costs, reason in (
        (without, "a.b: it moves"),
        (Costs((), {}, (), reason="it is too loud"), "it is too loud"),
    ):
        # Another test may have had its flows found, which say more.
        shown = text(replace(tiny, costs=costs, flows=None), None, with_parameters=False)
        assert shown.splitlines()[-1] == f"Mult-Adds: no formula found: {reason}"
    known = Costs((), {"": ModuleCosts("6", None, None)}, ())
    for architecture in (replace(tiny, costs=None), replace(tiny, costs=known)):
        assert "Mult-Adds" not in text(architecture, None, with_parameters=False)
