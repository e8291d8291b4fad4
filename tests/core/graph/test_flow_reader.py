"""Data-flow graphs of modules: their nodes, edges and repetitions."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
import torch
from msgspec.structs import replace
from torch import Tensor, nn

from bertviewer.core.graph.flow_reader import FlowReader
from bertviewer.core.graph.trace import Trace
from bertviewer.core.graph.tracing import Tracer
from bertviewer.core.schema.flow import Edge, Flow, Node, Operand
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.util.budget import OverBudget, limited
from bertviewer.core.util.progress import no_progress
from tests.core.graph.readers import LENGTHS, node_of, operations, parsed_heading, reader_of

FLOWS = Path(__file__).parents[2] / "golden" / "flows.txt"


def lines_of(nodes: Iterable[Node], edges: Iterable[Edge], indent: str = "") -> Iterator[str]:
    """Yield a line for each node, with details and inputs, and the lines of its inner nodes."""
    nodes, edges = list(nodes), list(edges)
    names = {node.id: node.name for node in nodes}
    for node in nodes:
        words = [node.name, f"({node.operation or node.kind})"]
        words += [f"× {node.repeat.count}"] if node.repeat else []
        words += [f"{key}={value}" for key, value in sorted(node.details.items())]
        inputs = [
            " ".join(filter(None, (names[edge.source], edge.role, *edge.views)))
            for edge in edges
            if edge.target == node.id and edge.source in names
        ]
        yield f"{indent}{' '.join(words)}" + (f" ← {', '.join(inputs)}" if inputs else "")
        yield from lines_of(node.nodes or (), node.edges, f"{indent}    ")


def test_flows_of_many_families(golden: Callable[[str, str], None]) -> None:
    """To add a module, add a heading to the file and run pytest with ``--overwrite-golden``."""
    headings = re.findall(r"^## (.+): (.*)$", FLOWS.read_text("utf-8"), re.MULTILINE)
    sections = []
    for model, path in headings:
        family, task, changes = parsed_heading(model)
        flow = reader_of(family, task, **changes).flow(path.replace("(model)", ""))
        lines = lines_of(flow.nodes, flow.edges)
        sections.append("\n".join((f"## {model}: {path}", *lines, "")))
    golden(FLOWS.name, "\n".join(sections))


def test_a_document_is_read_again() -> None:
    flow = reader_of("mixtral").flow("layers.0")
    source = SourceInfo("preset", "mixtral", "base", "none")
    assert Flow.from_json(json.loads(json.dumps(flow.document(source)))) == flow


def test_equal_modules_share_a_flow_with_other_paths() -> None:
    flows = reader_of("bert").flows(LENGTHS)
    second = flows.flow("encoder.layer.1")
    assert "encoder.layer.1" not in flows.distinct
    assert second is not None
    assert second.path == "encoder.layer.1"
    assert node_of(second, "query").path == "encoder.layer.1.attention.self.query"


def test_a_relocated_flow_keeps_the_paths_of_other_modules() -> None:
    flow = reader_of("bert").flow("encoder.layer.1")
    shared = (Operand(parameter="encoder.layer.10.weight"), Operand(parameter="encoder.layer.1.w"))
    other = replace(flow, nodes=(replace(flow.nodes[0], operands=shared),))
    (node,) = other.relocated("encoder.layer.5").nodes
    names = [operand.parameter for operand in node.operands]
    assert names == ["encoder.layer.10.weight", "encoder.layer.5.w"]


def test_a_module_without_a_call_has_no_flow() -> None:
    flows = reader_of("bert").flows(LENGTHS)
    assert flows.flow("encoder.layer") is None
    assert flows.reason_for("encoder.layer") == "it is not called itself; only its submodules are"


def test_flows_that_are_read_before_a_limit_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, paths = reader_of("bert"), list[str]()
    flow = reader.flow

    def limited_flow(path: str) -> Flow:
        paths.append(path)
        if len(paths) > 3:
            raise OverBudget("no time is left")
        return flow(path)

    monkeypatch.setattr(reader, "flow", limited_flow)
    flows = reader.flows(LENGTHS)
    assert list(flows.distinct) == paths[:3]
    assert {flows.missing[path] for path in paths[3:]} == {"no time is left"}
    assert set(flows.like.values()) <= set(flows.distinct)


def traced(model: nn.Module, *args: Tensor) -> Trace:
    tracer = Tracer(model)
    with torch.no_grad(), tracer.watching():
        model(*args)
    return tracer.trace()


class _ReturnsOperands(nn.Module):
    """Calls operations that return one of their operands, or an older tensor."""

    def forward(self, states: Tensor) -> Tensor:
        out = torch.empty_like(states)
        states.requires_grad_(False)
        doubled = (2 * states).detach_()
        moved = doubled.transpose(0, 1)
        with torch.inference_mode():
            torch.cat((moved.T.data,), out=out.data)
        return out.squeeze_() + moved.T.contiguous().requires_grad_(False)


@pytest.mark.parametrize("is_inference", [False, True])
def test_operations_that_return_an_operand_are_no_endless_loop(is_inference: bool) -> None:
    with torch.inference_mode(is_inference):
        trace = traced(_ReturnsOperands(), torch.ones(2, 3))
    with limited(no_progress, seconds=10):
        assert FlowReader(trace).flow("").nodes


class _Slice(nn.Module):
    def forward(self, states: Tensor, length: Tensor) -> Tensor:
        return states[..., :length].exp()


def test_a_part_with_a_computed_bound_is_written_as_code() -> None:
    flow = FlowReader(traced(_Slice(), torch.ones(2, 3), torch.tensor(2))).flow("")
    (edge,) = (edge for edge in flow.edges if edge.views)
    assert edge.views == ("part […, :?]",)


class _OfNumbers(nn.Module):
    """A network of the ids, which no weight was multiplied with."""

    def __init__(self) -> None:
        super().__init__()
        self.network = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 3))

    def forward(self, ids: Tensor) -> Tensor:
        numbers: Tensor = self.network(ids.float())
        return numbers


def test_a_network_of_plain_numbers_is_a_feed_forward_network() -> None:
    trace = traced(_OfNumbers(), torch.tensor([[1, 2, 3]]))
    assert operations(FlowReader(trace).flow("")) == ["feed-forward"]
