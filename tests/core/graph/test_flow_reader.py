"""A module's flow: what a person would draw of it."""

import json

import pytest
import torch
from torch import Tensor, nn

from bertviewer.core.graph.flow_reader import FlowReader
from bertviewer.core.graph.trace import macs_by_module
from bertviewer.core.graph.tracing import Tracer
from bertviewer.core.schema.flow import Flow, Flows
from bertviewer.core.schema.modules import Repeat
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.util.budget import OverBudget, limited
from bertviewer.core.util.progress import no_progress
from tests.core.graph.readers import (
    LENGTHS,
    config_of,
    node_of,
    operations,
    read,
    reader_of,
    takes,
)

_FAMILIES = ("albert", "bart", "bert", "deberta", "gpt2", "llama", "mixtral", "t5", "xlnet")


def test_a_bert_layer_is_attention_and_network_each_with_its_residual_and_norm() -> None:
    flow = reader_of("bert").flow("encoder.layer.0")

    assert operations(flow) == [
        *("linear", "linear", "linear", "attention", "linear", "residual", "layer norm"),
        *("feed-forward", "residual", "layer norm"),
    ]
    assert takes(flow, "attention") == {"query": "query", "key": "key", "value": "value"}
    network = node_of(flow, "feed-forward")
    assert [node.name for node in network.nodes or ()] == ["dense", "intermediate_act_fn", "dense"]
    assert network.details["inner_features"] == 40


def test_a_gpt2_block_norms_first_and_takes_queries_keys_and_values_of_one_matrix() -> None:
    flow = reader_of("gpt2").flow("h.0")

    assert operations(flow) == [
        *("layer norm", "linear", "attention", "linear", "residual"),
        *("layer norm", "feed-forward", "residual"),
    ]
    ids = {node.id: node.name for node in flow.nodes}
    fused = {
        edge.role: edge.views[0]
        for edge in flow.edges
        if (ids[edge.source], ids[edge.target]) == ("c_attn", "attention")
    }
    assert fused == {"query": "split 0 of 3", "key": "split 1 of 3", "value": "split 2 of 3"}


def test_equal_layers_are_one() -> None:
    flow = reader_of("bert").flow("encoder")

    assert [node.repeat for node in flow.nodes if node.kind == "module"] == [Repeat(0, 1, 2)]


def test_a_layer_that_is_called_again_and_again_is_one() -> None:
    flow = reader_of("albert").flow("encoder")

    (stack,) = (node for node in flow.nodes if node.repeat)
    assert stack.repeat == Repeat(0, 0, 2)


def test_layers_that_look_at_other_masks_are_kept_apart() -> None:
    flow = read(config_of("modernbert", num_hidden_layers=7, local_attention=4)).flow("")

    # The first has no norm before its attention; each third one attends to all tokens.
    assert [
        (node.name, node.repeat and node.repeat.count)
        for node in flow.nodes
        if node.name.startswith("layers")
    ] == [
        ("layers 0", None),
        ("layers 1", 2),
        ("layers 3", None),
        ("layers 4", 2),
        ("layers 6", None),
    ]


def test_a_decoder_reads_the_encoder_and_one_bias_of_positions() -> None:
    flow = reader_of("t5").flow("decoder.block.0")

    ids = {node.id: node for node in flow.nodes}
    of_encoder = [
        ids[edge.target].name
        for edge in flow.edges
        if ids[edge.source].name == "encoder hidden states"
    ]
    assert of_encoder == ["k", "v"]
    attentions = [node for node in flow.nodes if node.operation == "attention"]
    biased = [
        any(edge.target == node.id and edge.role == "bias" for edge in flow.edges)
        for node in attentions
    ]
    assert biased == [True, False]


def test_a_decoder_that_attends_to_an_encoder_is_given_one() -> None:
    config = config_of("bert", is_decoder=True, add_cross_attention=True)
    flow = read(config).flow("encoder.layer.0")

    assert operations(flow).count("attention") == 2
    assert "encoder hidden states" in {node.name for node in flow.nodes if node.kind == "input"}


def test_experts_hang_on_their_router() -> None:
    flow = reader_of("mixtral").flow("layers.0")

    assert operations(flow)[-4:] == ["rms norm", "routing", "experts", "residual"]
    assert set(takes(flow, "experts")) == {"gate", "post_attention_layernorm"}


def test_masks_and_positions_are_constants() -> None:
    flow = reader_of("llama").flow("layers.0")

    constants = {node.name: node.operation for node in flow.nodes if node.kind == "constant"}
    assert constants == {"position embeddings": "positions"}


@pytest.mark.parametrize("name", _FAMILIES)
def test_flows_are_whole(name: str) -> None:
    reader = reader_of(name)
    flows = reader.flows(LENGTHS)
    assert Flows.from_json(json.loads(json.dumps(flows.to_json()))) == flows
    for flow in flows.distinct.values():
        assert flow.is_consistent
        assert all(edge.source != edge.target for edge in flow.edges)
    # Every multiply-add of a module is in one of its nodes.
    expected = macs_by_module(reader.trace)
    for path, numbers in reader.trace.calls_of.items():
        if len(numbers) == 1 and reader.trace.calls[numbers[0]].operations:
            assert reader.flow(path).macs == expected[path], path


def test_a_flow_comes_back_from_json() -> None:
    flow = reader_of("mixtral").flow("layers.0")
    source = SourceInfo("preset", "mixtral", "base", "none")
    assert Flow.from_json(json.loads(json.dumps(flow.document(source)))) == flow


def test_a_module_has_the_flow_of_its_kind_under_its_own_paths() -> None:
    flows = reader_of("bert").flows(LENGTHS)
    second = flows.flow("encoder.layer.1")

    assert "encoder.layer.1" not in flows.distinct
    assert second is not None
    assert second.path == "encoder.layer.1"
    assert node_of(second, "query").path == "encoder.layer.1.attention.self.query"


def test_what_is_not_called_has_no_flow_and_says_so() -> None:
    flows = reader_of("bert").flows(LENGTHS)

    assert flows.flow("encoder.layer") is None
    assert flows.reason_for("encoder.layer") == "it is not called itself; only its submodules are"


class _GivesWhatItTakes(nn.Module):
    """Calls operations that give the tensor that they take, or one that is older."""

    def forward(self, states: Tensor) -> Tensor:
        out = torch.empty_like(states)
        states.requires_grad_(False)
        doubled = (2 * states).detach_()
        moved = doubled.transpose(0, 1)
        with torch.inference_mode():
            torch.cat((moved.T.data,), out=out.data)
        return out.squeeze_() + moved.T.contiguous().requires_grad_(False)


@pytest.mark.parametrize("is_inference", [False, True])
def test_operations_that_give_what_they_take_end_the_way_back(is_inference: bool) -> None:
    model = _GivesWhatItTakes()
    tracer = Tracer(model)
    with torch.inference_mode(is_inference), torch.no_grad(), tracer.watching():
        model(torch.ones(2, 3))
    with limited(no_progress, seconds=10):
        flow = FlowReader(tracer.trace()).flow("")
    assert flow.nodes


class _Cut(nn.Module):
    def forward(self, states: Tensor, length: Tensor) -> Tensor:
        return states[..., :length].exp()


def test_a_part_with_a_bound_that_is_computed_is_written_as_code() -> None:
    model = _Cut()
    tracer = Tracer(model)
    with torch.no_grad(), tracer.watching():
        model(torch.ones(2, 3), torch.tensor(2))
    (edge,) = (e for e in FlowReader(tracer.trace()).flow("").edges if e.views)
    assert edge.views == ("part […, :?]",)


class _OfNumbers(nn.Module):
    """A network over numbers of the text that no weight was multiplied with."""

    def __init__(self) -> None:
        super().__init__()
        self.network = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 3))

    def forward(self, ids: Tensor) -> Tensor:
        numbers: Tensor = self.network(ids.float())
        return numbers


def test_a_network_over_plain_numbers_is_a_feed_forward_network() -> None:
    model = _OfNumbers()
    tracer = Tracer(model)
    with torch.no_grad(), tracer.watching():
        model(torch.tensor([[1, 2, 3]]))
    assert operations(FlowReader(tracer.trace()).flow("")) == ["feed-forward"]


def test_flows_that_are_read_before_a_limit_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, read_so_far = reader_of("bert"), []
    flow = reader.flow

    def slow(path: str) -> Flow:
        read_so_far.append(path)
        if len(read_so_far) > 3:
            raise OverBudget("no time is left")
        return flow(path)

    monkeypatch.setattr(reader, "flow", slow)
    flows = reader.flows(LENGTHS)
    assert list(flows.distinct) == read_so_far[:3]
    assert {flows.missing[path] for path in read_so_far[3:]} == {"no time is left"}
    assert set(flows.like.values()) <= set(flows.distinct)
