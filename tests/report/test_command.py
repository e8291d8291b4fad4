"""The command on the title page of a report writes the same report."""

import shlex
from pathlib import Path

import pytest
from msgspec.structs import replace

from bertviewer.cli.arguments import parse
from bertviewer.core.loading.opening import open_model
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.sources.model_source import ModelSource, find_task
from bertviewer.report.command import report_command
from bertviewer.report.options import Options
from bertviewer.report.subject import ReportInputs

PAIR = Sentence('--it\'s a "cat"; rm -rf $HOME', "- and\na dog`")


@pytest.fixture(scope="module")
def inputs(demo_source: ModelSource) -> ReportInputs:
    """Return the demo with a run of a pair."""
    model = open_model(demo_source)
    run = RecordedRun(run_sentence(model, PAIR), ActivationCache("units"))
    return ReportInputs(demo_source, model.architecture, model.load_report, run)


def run_of(inputs: ReportInputs) -> ActivationRun:
    assert inputs.run is not None
    return inputs.run.run


def test_a_corpus_is_named(inputs: ReportInputs) -> None:
    options = Options(corpus="/a b/c")
    command = report_command(replace(inputs, run=None), options, None, "demo.pdf")
    assert command == "bertviewer report demo -o demo.pdf '--corpus=/a b/c'"


def test_the_format_is_named_only_where_the_extension_does_not_say_it(
    inputs: ReportInputs,
) -> None:
    alone = replace(inputs, run=None)
    for file, expected in (("a.json", "a.json"), ("a", "a --format=json")):
        command = report_command(alone, Options(format="json"), None, file)
        assert command == f"bertviewer report demo -o {expected}"


def test_of_the_model_alone(inputs: ReportInputs) -> None:
    alone = replace(inputs, run=None)
    assert (
        report_command(alone, Options(), None, "demo.pdf") == "bertviewer report demo -o demo.pdf"
    )


def test_all_that_can_be_chosen(inputs: ReportInputs) -> None:
    chosen = Options(
        sections=("model", "attention"),
        paper="letter",
        title="-- Ours, 'so' to say",
        author="Ada $USER",
        grey=True,
        statistic="rms",
    )
    checked = replace(inputs, checked=("pooler", "--encoder, 0"))
    said = report_command(checked, chosen, (0, 5), "-my report.pdf")
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


def test_random_weights_heads_and_folders(inputs: ReportInputs, tmp_path: Path) -> None:
    source = ModelSource("pickle", str(tmp_path), tmp_path, find_task("masked-lm"), True)
    info = replace(run_of(inputs).source, weights="random")
    run = RecordedRun(replace(run_of(inputs), source=info), ActivationCache("units"))
    said = report_command(replace(inputs, source=source, run=run), Options(), None, "a.pdf")
    options = parse(shlex.split(said)[1:])
    assert (options.model, options.task) == (str(tmp_path), "masked-lm")
    assert options.random_weights
    assert options.allow_pickle


def test_run_a_where_and_how_it_was_run(inputs: ReportInputs) -> None:
    run = run_of(inputs)
    cut = replace(run, sentence=replace(run.sentence, cut=True), device="cuda:0")
    kept = RecordedRun(replace(run, sentence=Sentence("- a")), ActivationCache("units"))
    ours = replace(
        inputs,
        run=RecordedRun(cut, ActivationCache("units")),
        baseline=kept,
    )
    chosen = Options(statistic="mean ± std")
    options = parse(shlex.split(report_command(ours, chosen, None, "a.pdf"))[1:])
    assert (options.device, options.against_device) == ("cuda:0", "cpu")
    assert options.cut
    assert (options.against, options.against_pair, options.against_model) == ("- a", None, None)
    assert options.statistic == "mean ± std"


def test_runs_that_were_saved(inputs: ReportInputs) -> None:
    run = run_of(inputs)
    saved = replace(
        inputs,
        source=replace(inputs.source, kind="runs", name="two.bertviewer"),
        run=RecordedRun(run, None, file="two.bertviewer"),
        baseline=RecordedRun(run, None, file="two.bertviewer", is_saved_baseline=True),
        checked=("pooler",),
    )
    said = report_command(saved, Options(), None, "a.pdf")
    assert said == ("bertviewer report two.bertviewer -o a.pdf --against-saved-a=two.bertviewer")
    # Its own model was opened, and run again.
    again = replace(inputs, baseline=RecordedRun(run, None, file="two.bertviewer"))
    options = parse(shlex.split(report_command(again, Options(), None, "a.pdf"))[1:])
    assert options.sentence == PAIR.text
    assert options.against_saved == "two.bertviewer"
