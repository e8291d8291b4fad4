"""The command line that a report says of itself makes the same report."""

import shlex
from pathlib import Path

import pytest
from msgspec.structs import replace

from bertviewer.cli.arguments import parse
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.check import Check
from bertviewer.core.sources.model_source import ModelSource, find_task
from bertviewer.report.choices import Choices
from bertviewer.ui.export.command import recipe_of
from bertviewer.ui.export.report_inputs import Material
from bertviewer.ui.jobs.recorded_run import RecordedRun

PAIR = Sentence('--it\'s a "cat"; rm -rf $HOME', "- and\na dog`")


@pytest.fixture(scope="module")
def material(opened_demo: LoadedModel) -> Material:
    """Return what the window knows of the demo and of a run of a pair."""
    run = run_sentence(opened_demo, PAIR)
    return Material(
        source=opened_demo.source,
        architecture=opened_demo.architecture,
        keys=opened_demo.load_report,
        watched=RecordedRun(run, ActivationCache("units")),
        watched_a=None,
        check=None,
        checked=(),
        comparison=None,
        statistic="std",
    )


def command_of(
    material: Material, choices: Choices, layers: tuple[int, ...] | None, file: str
) -> str:
    return recipe_of(material, choices, layers, file).command


def test_a_corpus_is_named(material: Material) -> None:
    alone = replace(material, watched=None)
    command = recipe_of(alone, Choices(), None, "demo.pdf", "/a b/c").command
    assert command == "bertviewer report demo -o demo.pdf '--corpus=/a b/c'"


def test_of_the_model_alone(material: Material) -> None:
    alone = replace(material, watched=None)
    assert command_of(alone, Choices(), None, "demo.pdf") == "bertviewer report demo -o demo.pdf"


def test_all_that_can_be_chosen(material: Material) -> None:
    choices = Choices(
        sections=("model", "attention"),
        paper="letter",
        title="-- Ours, 'so' to say",
        author="Ada $USER",
        is_grey=True,
    )
    checked = replace(
        material, check=Check(()), checked=("pooler", "--encoder, 0"), statistic="rms"
    )
    said = command_of(checked, choices, (0, 5), "-my report.pdf")
    words = shlex.split(said)
    assert words[0] == "bertviewer"
    options = parse(words[1:])
    assert options.command == "report"
    assert options.model == "demo"
    assert options.output == Path("./-my report.pdf")
    assert (options.sentence, options.pair) == (PAIR.text, PAIR.pair)
    assert options.check_module == ["pooler", "--encoder, 0"]
    assert not options.check
    assert options.statistic == "rms"
    assert not options.random_weights
    assert options.sections == ("model", "attention")
    assert options.layers == "0,5"
    assert options.paper == "letter"
    assert (options.title, options.author) == ("-- Ours, 'so' to say", "Ada $USER")
    assert options.grey


def test_random_weights_heads_and_folders(material: Material, tmp_path: Path) -> None:
    source = ModelSource("pickle", str(tmp_path), tmp_path, find_task("masked-lm"), True)
    assert material.run is not None
    info = replace(material.run.source, weights="random")
    watched = RecordedRun(replace(material.run, source=info), ActivationCache("units"))
    said = command_of(replace(material, source=source, watched=watched), Choices(), None, "a.pdf")
    options = parse(shlex.split(said)[1:])
    assert (options.model, options.task) == (str(tmp_path), "masked-lm")
    assert options.random_weights
    assert options.allow_pickle


def test_run_a_where_and_how_it_was_run(material: Material) -> None:
    run = material.run
    assert run is not None
    cut = replace(run, sentence=replace(run.sentence, cut=True), device="cuda:0")
    kept = RecordedRun(replace(run, sentence=Sentence("- a")), ActivationCache("units"))
    ours = replace(
        material,
        watched=RecordedRun(cut, ActivationCache("units")),
        watched_a=kept,
        statistic="mean ± std",
    )
    options = parse(shlex.split(command_of(ours, Choices(), None, "a.pdf"))[1:])
    assert (options.device, options.against_device) == ("cuda:0", "cpu")
    assert options.cut
    assert (options.against, options.against_pair, options.against_model) == ("- a", None, None)
    assert options.statistic == "mean ± std"


def test_runs_that_were_saved(material: Material) -> None:
    run = material.run
    assert run is not None
    saved = replace(
        material,
        source=replace(material.source, kind="runs", name="two.bertviewer"),
        watched=RecordedRun(run, None, file="two.bertviewer"),
        watched_a=RecordedRun(run, None, file="two.bertviewer", is_saved_baseline=True),
        checked=("pooler",),
    )
    said = command_of(saved, Choices(), None, "a.pdf")
    assert said == ("bertviewer report two.bertviewer -o a.pdf --against-saved-a=two.bertviewer")
    # Its own model was opened, and run again.
    again = replace(material, watched_a=RecordedRun(run, None, file="two.bertviewer"))
    options = parse(shlex.split(command_of(again, Choices(), None, "a.pdf"))[1:])
    assert options.sentence == PAIR.text
    assert options.against_saved == "two.bertviewer"
