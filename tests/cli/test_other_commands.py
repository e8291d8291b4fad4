"""The commands ``report``, ``compare`` and ``presets``; version and help."""

import json
from pathlib import Path

import pytest

from bertviewer import __version__
from bertviewer.core.sources.presets import PRESETS
from tests.cli.commands import SENTENCE, bertviewer, output_of
from tests.cli.conftest import Printed
from tests.tools.pdf_text import text_of


def test_report_is_a_pdf_with_the_sentence_in_it(printed: Printed, elsewhere: Path) -> None:
    assert printed("report", "demo", "-o", "out.pdf", "--sentence", SENTENCE) == ""
    path = elsewhere / "out.pdf"
    assert path.read_bytes().startswith(b"%PDF")
    text = text_of(path)
    assert "22,713,216" in text
    assert SENTENCE in text


def test_two_models_side_by_side(elsewhere: Path, tiny_bert_folder: Path) -> None:
    model = str(tiny_bert_folder)
    text = output_of(elsewhere, "compare", model, model)
    assert text.splitlines()[2:] == ["Tensors: 39 same"]
    document = json.loads(output_of(elsewhere, "compare", "demo", model, "--format", "json"))
    assert document["schema"] == "bertviewer.comparison/1"
    assert document["left"]["parameters"] == 22_713_216
    assert document["config"]["num_hidden_layers"] == [6, 2]
    assert document["counts"]["only left"] == 4 * 16


def test_presets(elsewhere: Path) -> None:
    lines = output_of(elsewhere, "presets").splitlines()
    assert [line.split()[0] for line in lines] == [preset.name for preset in PRESETS]


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_version_and_help_are_quick(elsewhere: Path, argument: str) -> None:
    result = bertviewer(elsewhere, argument, python=("-X", "importtime"))
    assert result.returncode == 0
    assert (f"bertviewer {__version__}" if argument == "--version" else "summary") in result.stdout
    # Each line of stderr ends with the name of an imported module.
    imported = {
        line.rpartition("|")[2].strip().partition(".")[0] for line in result.stderr.splitlines()
    }
    assert "argparse" in imported
    assert imported.isdisjoint({"torch", "transformers", "PySide6", "numpy"})
