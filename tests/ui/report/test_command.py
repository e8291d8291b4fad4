"""The command line that a report says of itself makes the same report."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from bertviewer.cli.arguments import parse
from bertviewer.core.activations.activation_run import Sentence
from bertviewer.core.activations.check_step import Check
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.run.capture import Capture
from bertviewer.core.run.running import run_sentence
from bertviewer.core.source.model_source import ModelSource
from bertviewer.core.source.tasks import find_task
from bertviewer.report.choices import Choices
from bertviewer.ui.report.command import command_of
from bertviewer.ui.report.material import Material
from bertviewer.ui.watched_run import WatchedRun

PAIR = Sentence('--it\'s a "cat"; rm -rf $HOME', "- and\na dog`")


@pytest.fixture(scope="module")
def material(opened_demo: LoadedModel) -> Material:
    """Return what the window knows of the demo and of a run of a pair."""
    run = run_sentence(opened_demo, PAIR)
    return Material(
        source=opened_demo.source,
        architecture=opened_demo.architecture,
        keys=opened_demo.keys,
        watched=WatchedRun(run, Capture("units")),
        other=None,
        check=None,
        comparison=None,
        statistic="std",
    )


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
    checked = replace(material, check=Check(()))
    said = command_of(checked, choices, (0, 5), "-my report.pdf")
    words = shlex.split(said)
    assert words[0] == "bertviewer"
    options = parse(words[1:])
    assert options.command == "report"
    assert options.model == "demo"
    assert options.output == Path("./-my report.pdf")
    assert (options.sentence, options.pair) == (PAIR.text, PAIR.pair)
    assert options.check
    assert not options.random_weights
    assert options.sections == ("model", "attention")
    assert options.layers == (0, 5)
    assert options.paper == "letter"
    assert (options.title, options.author) == ("-- Ours, 'so' to say", "Ada $USER")
    assert options.grey


def test_random_weights_heads_and_folders(material: Material, tmp_path: Path) -> None:
    source = ModelSource("pickle", str(tmp_path), tmp_path, find_task("masked-lm"), True)
    assert material.run is not None
    info = replace(material.run.source, weights="random")
    watched = WatchedRun(replace(material.run, source=info), Capture("units"))
    said = command_of(replace(material, source=source, watched=watched), Choices(), None, "a.pdf")
    options = parse(shlex.split(said)[1:])
    assert (options.model, options.task) == (str(tmp_path), "masked-lm")
    assert options.random_weights
    assert options.allow_pickle


def test_what_no_command_makes(material: Material) -> None:
    run = material.run
    assert run is not None
    cut = replace(run, sentence=replace(run.sentence, cut=True))
    others = (
        replace(material, other=run),
        replace(material, statistic="rms"),
        replace(material, watched=WatchedRun(run, None)),
        replace(material, watched=WatchedRun(cut, Capture("units"))),
        replace(material, watched=WatchedRun(replace(run, device="cuda:0"), Capture("units"))),
        replace(material, source=replace(material.source, kind="runs")),
    )
    assert [command_of(each, Choices(), None, "a.pdf") for each in others] == [""] * len(others)
