"""The command in the appendix writes the same report."""

import shlex
from argparse import Namespace
from pathlib import Path

import pytest
from msgspec.structs import replace

from bertviewer.cli.arguments import parse
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.sources.model_source import Kind, ModelSource, find_task
from bertviewer.report.command import default_file_name, report_command
from bertviewer.report.formats.formats import FORMATS
from bertviewer.report.options import Options
from bertviewer.report.subject import ReportInputs

PAIR = Sentence('--it\'s a "cat"; rm -rf $HOME', "- and\na dog`")
CACHE = ActivationCache("units")
DEFAULTS = Options()


@pytest.fixture(scope="module")
def run(demo_model: LoadedModel) -> ActivationRun:
    return run_sentence(demo_model, PAIR)


@pytest.fixture
def inputs(demo_model: LoadedModel, run: ActivationRun) -> ReportInputs:
    """Return the demo with a run of two sentences."""
    recorded = RecordedRun(run, CACHE)
    source, architecture = demo_model.source, demo_model.architecture
    return ReportInputs(source, architecture, demo_model.load_report, recorded)


def parsed(
    inputs: ReportInputs,
    options: Options = DEFAULTS,
    layers: tuple[int, ...] | None = None,
    file: str = "a.pdf",
) -> Namespace:
    """Return the arguments of the command for a report."""
    program, *arguments = shlex.split(report_command(inputs, options, layers, file))
    assert program == "bertviewer"
    return parse(arguments)


@pytest.mark.parametrize(
    ("options", "file", "expected"),
    [
        (Options(), "demo.pdf", "demo.pdf"),
        (Options(corpus="/a b/c"), "demo.pdf", "demo.pdf '--corpus=/a b/c'"),
        # The format is named only if the extension does not determine it.
        (Options(format="json"), "a.json", "a.json"),
        (Options(format="json"), "a", "a --format=json"),
    ],
)
def test_a_model_without_a_run(
    inputs: ReportInputs, options: Options, file: str, expected: str
) -> None:
    command = report_command(replace(inputs, run=None), options, None, file)
    assert command == f"bertviewer report demo -o {expected}"


def test_all_options(inputs: ReportInputs) -> None:
    chosen = Options(
        sections=("model", "attention"),
        paper="letter",
        title="-- Ours, 'so' to say",
        author="Ada $USER",
        grey=True,
        statistic="rms",
        appendix="full",
    )
    checked = replace(inputs, checked=("pooler", "--encoder, 0"))
    found = parsed(checked, chosen, (0, 5), "-my report.pdf")
    assert (found.command, found.model) == ("report", "demo")
    assert found.output == Path("./-my report.pdf")
    assert (found.sentence, found.pair) == (PAIR.text, PAIR.pair)
    assert found.check_module == ["pooler", "--encoder, 0"]
    assert not found.check
    assert not found.random_weights
    assert found.layers == "0,5"
    for name in ("sections", "paper", "title", "author", "grey", "statistic", "appendix"):
        assert getattr(found, name) == getattr(chosen, name)
    assert parsed(replace(inputs, is_all_checked=True)).check


def test_a_pickle_with_random_weights(
    inputs: ReportInputs, run: ActivationRun, tmp_path: Path
) -> None:
    source = ModelSource("pickle", str(tmp_path), tmp_path, find_task("masked-lm"), True)
    random = replace(run, source=replace(run.source, weights="random"))
    found = parsed(replace(inputs, source=source, run=RecordedRun(random, CACHE)))
    assert (found.model, found.task) == (str(tmp_path), "masked-lm")
    assert found.random_weights
    assert found.allow_pickle


def test_a_baseline_on_another_device(inputs: ReportInputs, run: ActivationRun) -> None:
    cut = replace(run, sentence=replace(run.sentence, cut=True), device="cuda:0")
    baseline = RecordedRun(replace(run, sentence=Sentence("- a")), CACHE)
    both = replace(inputs, run=RecordedRun(cut, CACHE), baseline=baseline)
    found = parsed(both, Options(statistic="mean ± std"))
    assert (found.device, found.against_device) == ("cuda:0", "cpu")
    assert found.cut
    assert (found.against, found.against_pair, found.against_model) == ("- a", None, None)
    assert found.statistic == "mean ± std"


def test_saved_runs(inputs: ReportInputs, run: ActivationRun) -> None:
    saved = replace(
        inputs,
        source=replace(inputs.source, kind="runs", name="two.bertviewer"),
        run=RecordedRun(run, None, file="two.bertviewer"),
        baseline=RecordedRun(run, None, file="two.bertviewer", is_saved_baseline=True),
        checked=("pooler",),
    )
    command = report_command(saved, Options(), None, "a.pdf")
    assert command == "bertviewer report two.bertviewer -o a.pdf --against-saved-a=two.bertviewer"
    # A new run against a saved one.
    found = parsed(replace(inputs, baseline=RecordedRun(run, None, file="two.bertviewer")))
    assert (found.sentence, found.against_saved) == (PAIR.text, "two.bertviewer")


@pytest.mark.parametrize(
    ("kind", "name", "file"),
    [
        ("demo", "demo", "demo.pdf"),
        ("preset", "bert-base-uncased", "bert-base-uncased.pdf"),
        ("folder", "/home/ada/models/my bert/", "my bert.pdf"),
        ("folder", "/home/ada/bert-v1.5", "bert-v1.5.pdf"),
        ("config", "/home/ada/tiny/config.json", "tiny.pdf"),
        ("config", "config.json", "config.pdf"),
        ("weights", "tiny/ours.safetensors", "ours.pdf"),
        ("runs", "two runs.bertviewer", "two runs.pdf"),
        ("hub", "hf://org/name@main", "name.pdf"),
        ("folder", 'a:b*"<c>\x00', "a-b---c--.pdf"),
        ("folder", "...", "model.pdf"),
    ],
)
def test_the_default_file_name_is_that_of_the_model(kind: Kind, name: str, file: str) -> None:
    source = ModelSource(kind, name, Path(), find_task("base"))
    assert default_file_name(source, FORMATS[0]) == file
