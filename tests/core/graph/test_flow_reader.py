"""Data-flow graphs of modules: their nodes, edges and repetitions."""

import json

import pytest
import torch
from msgspec.structs import replace
from torch import Tensor, nn

from bertviewer.core.graph.flow_reader import FlowReader
from bertviewer.core.graph.trace import Trace
from bertviewer.core.graph.tracing import Tracer
from bertviewer.core.schema.flow import Flow, Operand
from bertviewer.core.schema.modules import Repeat
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.util.budget import OverBudget, limited
from bertviewer.core.util.progress import no_progress
from tests.core.graph.readers import LENGTHS, inputs_of, node_of, operations, reader_of


def test_a_bert_layer() -> None:
    flow = reader_of("bert").flow("encoder.layer.0")
    assert operations(flow) == [
        *("linear", "linear", "linear", "attention", "linear", "residual", "layer norm"),
        *("feed-forward", "residual", "layer norm"),
    ]
    assert inputs_of(flow, "attention") == {"query": "query", "key": "key", "value": "value"}
    network = node_of(flow, "feed-forward")
    assert [node.name for node in network.nodes or ()] == ["dense", "intermediate_act_fn", "dense"]
    assert network.details["inner_features"] == 40


def test_a_gpt2_block_splits_queries_keys_and_values() -> None:
    flow = reader_of("gpt2").flow("h.0")
    assert operations(flow) == [
        *("layer norm", "linear", "attention", "linear", "residual"),
        *("layer norm", "feed-forward", "residual"),
    ]
    names = {node.id: node.name for node in flow.nodes}
    parts = {
        edge.role: edge.views[0]
        for edge in flow.edges
        if (names[edge.source], names[edge.target]) == ("c_attn", "attention")
    }
    assert parts == {"query": "split 0 of 3", "key": "split 1 of 3", "value": "split 2 of 3"}


@pytest.mark.parametrize(
    ("family", "path", "expected"),
    [
        ("bert", "encoder", [Repeat(0, 1, 2)]),
        ("albert", "encoder", [Repeat(0, 0, 2)]),  # one layer, called twice
    ],
)
def test_equal_layers_are_one_node(family: str, path: str, expected: list[Repeat]) -> None:
    flow = reader_of(family).flow(path)
    assert [node.repeat for node in flow.nodes if node.repeat] == expected


def test_layers_with_different_masks_are_separate_nodes() -> None:
    flow = reader_of("modernbert", num_hidden_layers=7, local_attention=4).flow("")
    # The first has no norm before its attention; each third one attends to all tokens.
    layers = [node for node in flow.nodes if node.name.startswith("layers")]
    assert [(node.name, node.repeat and node.repeat.count) for node in layers] == [
        *(("layers 0", None), ("layers 1", 2), ("layers 3", None)),
        *(("layers 4", 2), ("layers 6", None)),
    ]


def test_a_decoder_layer_reads_the_encoder_and_a_position_bias() -> None:
    flow = reader_of("t5").flow("decoder.block.0")
    nodes = {node.id: node for node in flow.nodes}
    encoder = [edge for edge in flow.edges if nodes[edge.source].name == "encoder hidden states"]
    assert [nodes[edge.target].name for edge in encoder] == ["k", "v"]
    attentions = [node.id for node in flow.nodes if node.operation == "attention"]
    biased = {edge.target for edge in flow.edges if edge.role == "bias"}
    assert [node in biased for node in attentions] == [True, False]


def test_a_decoder_with_cross_attention_is_given_an_encoders_output() -> None:
    reader = reader_of("bert", is_decoder=True, add_cross_attention=True)
    flow = reader.flow("encoder.layer.0")
    assert operations(flow).count("attention") == 2
    assert "encoder hidden states" in {node.name for node in flow.nodes if node.kind == "input"}


def test_experts_read_the_router() -> None:
    flow = reader_of("mixtral").flow("layers.0")
    assert operations(flow)[-4:] == ["rms norm", "routing", "experts", "residual"]
    assert set(inputs_of(flow, "experts")) == {"gate", "post_attention_layernorm"}


def test_masks_and_positions_are_constants() -> None:
    flow = reader_of("llama").flow("layers.0")
    constants = {node.name: node.operation for node in flow.nodes if node.kind == "constant"}
    assert constants == {"position embeddings": "positions"}


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
