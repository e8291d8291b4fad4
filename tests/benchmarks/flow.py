"""How long a flow takes once a model is built: traced, reduced, laid out and written as SVG."""

from collections.abc import Callable
from functools import partial
from statistics import median
from time import perf_counter
from typing import TypeVar

from bertviewer.charts.graph.layout import draw
from bertviewer.charts.graph.svg import svg_of
from bertviewer.core.building.configurations import build_config
from bertviewer.core.building.models import build_on_meta
from bertviewer.core.graph.flow_reader import FlowReader
from bertviewer.core.graph.trace import Trace
from bertviewer.core.graph.tracing_models import LENGTHS, meta_trace
from bertviewer.core.schema.flow import Flow, Flows
from bertviewer.core.sources.configuration import read_configuration
from bertviewer.core.sources.parsing import parse_source
from bertviewer.plots.export import offscreen_application
from bertviewer.plots.graph_painting import text_width

TIMES = 9

_Given = TypeVar("_Given")


def flow() -> dict[str, float]:
    """Return seconds by what takes them; the first trace of a process is told apart."""
    application = offscreen_application()
    figures = {}
    for name, layer in (("bert-base-uncased", "encoder.layer.0"), ("bert-large-uncased", "")):
        source = parse_source(name)
        file = source.config_file
        assert file is not None
        config = build_config(read_configuration(file), name)
        model = build_on_meta(config, source.task, name)
        first, trace = _timed(partial(meta_trace, model, LENGTHS))
        figures[f"{name}: first trace"] = first
        figures[f"{name}: trace"] = _median(partial(meta_trace, model, LENGTHS))
        figures[f"{name}: all flows of it"] = _median(partial(_flows, trace))
        drawn = FlowReader(trace).flow(layer)
        figures[f"{name}: layout"] = _median(partial(_svg, drawn))
    application.processEvents()
    return figures


def _flows(trace: Trace) -> Flows:
    return FlowReader(trace).flows(LENGTHS)


def _svg(drawn: Flow) -> str:
    return svg_of(draw(drawn, text_width))


def _median(work: Callable[[], object]) -> float:
    return median(_timed(work)[0] for _ in range(TIMES))


def _timed(work: Callable[[], _Given]) -> tuple[float, _Given]:
    start = perf_counter()
    given = work()
    return perf_counter() - start, given
