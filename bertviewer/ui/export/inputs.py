"""The model and the runs of the window as inputs of a report."""

from msgspec.structs import replace

from bertviewer.core.schema.check import merge_checks
from bertviewer.core.util.errors import UserError
from bertviewer.report.options import STATISTIC, Options, layer_numbers
from bertviewer.report.subject import ReportInputs
from bertviewer.ui.state.workspace import Workspace


def report_inputs(workspace: Workspace) -> ReportInputs:
    """Return the open model, its last run with all checks, run A and the comparison."""
    source, architecture = workspace.source, workspace.architecture
    assert source is not None
    assert architecture is not None
    runs, other = workspace.runs, workspace.comparison.source
    run, baseline = runs.current, runs.baseline
    checked: tuple[str, ...] = ()
    if run is not None:
        check = merge_checks(runs.checks, architecture) or run.run.check
        checked = tuple(runs.checks) if run.capture is not None else ()
        run = replace(run, run=replace(run.run, check=check))
    return ReportInputs(
        source=source,
        architecture=architecture,
        load_report=workspace.keys,
        run=run,
        baseline=None if baseline is runs.current else baseline,
        checked=checked,
        comparison=workspace.comparison.comparison,
        compared=() if other is None else (other,),
    )


def valid_options(options: Options, inputs: ReportInputs, statistic: str | None) -> Options:
    """Return options that fit the inputs: with the plotted statistic, and layers that exist."""
    options = replace(options, statistic=statistic or STATISTIC)
    try:
        layer_numbers(options.layers, inputs.layer_count)
    except UserError:
        return replace(options, layers="")  # the form shows the problem
    return options
