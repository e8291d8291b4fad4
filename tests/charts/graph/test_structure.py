"""Where the nodes of well-known layers stand to one another, whatever their sizes in pixels."""

import pytest

from bertviewer.charts.graph.drawing import DrawnNode
from bertviewer.charts.graph.layout import draw
from bertviewer.core.schema.flow import Flow
from tests.charts.graph import flows
from tests.charts.graph.checks import measure


def structure(flow: Flow) -> list[str]:
    """Return the columns from left to right, each from above to below, with forms and titles."""
    columns: dict[int, list[DrawnNode]] = {}
    for placed in draw(flow, measure, canvas=5000).nodes:
        rect = placed.rect
        columns.setdefault(round(rect.x + rect.width / 2), []).append(placed)
    return [
        " / ".join(shown(each) for each in sorted(columns[x], key=lambda each: each.rect.y))
        for x in sorted(columns)
    ]


def shown(placed: DrawnNode) -> str:
    title = placed.labels[0].text if placed.labels else placed.node.name
    return title if placed.form == "box" else f"{title} ({placed.form})"


STRUCTURES = {
    "bert layer": [
        "hidden states (input)",
        "Q / K / V",
        "12 heads of 64 (attention) / mask (dashed pill)",
        "W",
        "add (sign)",
        "Norm (norm)",
        "dense (feed-forward)",
        "add (sign)",
        "Norm (norm)",
        "hidden states (output)",
    ],
    "gpt2 block": [
        "hidden states (input)",
        "Norm (norm)",
        "Q K V",
        "12 heads of 64 (attention)",
        "W",
        "add (sign)",
        "Norm (norm)",
        "c_fc (feed-forward)",
        "add (sign)",
        "hidden states (output)",
    ],
    "llama layer": [
        "hidden states (input)",
        "RMS norm (norm)",
        "Q / K / V",
        "rotary (pill) / angles (dashed pill) / rotary (pill)",
        "12 heads, 3 for K and V (attention)",
        "W",
        "add (sign)",
        "RMS norm (norm)",
        "gate_proj (gated feed-forward)",
        "add (sign)",
        "hidden states (output)",
    ],
    "mixtral layer": [
        "hidden states (input)",
        "RMS norm (norm)",
        "Q / K / V",
        "rotary (pill) / angles (dashed pill) / rotary (pill)",
        "12 heads, 3 for K and V (attention)",
        "W",
        "add (sign)",
        "RMS norm (norm)",
        "router",
        "8 experts (deck)",
        "add (sign)",
        "hidden states (output)",
    ],
    "t5 decoder block": [
        "hidden states (input)",
        "RMS norm (norm)",
        "Q / K / V",
        "position bias (dashed pill) / relative_attention_bias (pill)",
        "12 heads of 64 (attention)",
        "mask (dashed pill)",
        "W",
        "add (sign)",
        "encoder hidden states (input)",
        "RMS norm (norm)",
        "Q / K / V",
        "12 heads of 64 (attention) / mask (dashed pill)",
        "W",
        "add (sign)",
        "RMS norm (norm)",
        "wi (feed-forward)",
        "add (sign)",
        "hidden states (output)",
    ],
    "deberta attention": [
        "hidden states (input)",
        "Q / K / V",
        "position bias / rel_embeddings (pill)",
        "12 heads of 64 (attention) / mask (dashed pill)",
        "W",
        "add (sign)",
        "Norm (norm)",
        "hidden states (output)",
    ],
    "whole bert": [
        "input_ids (input)",
        "embeddings",
        "layer (deck) / mask (dashed pill) / attention_mask (dashed pill)",
        "pooler",
        "last_hidden_state (output) / pooler_output (output)",
    ],
    "whole encoder-decoder": [
        "input_ids (input) / decoder_input_ids (input)",
        "shared",
        "shared",
        "block (deck) / mask (dashed pill)",
        "causal mask (dashed pill)",
        "block (deck)",
        "mask (dashed pill)",
        "RMS norm (norm)",
        "RMS norm (norm)",
        "last_hidden_state (output)",
    ],
}


@pytest.mark.parametrize("name", flows.ALL)
def test_nodes_stand_where_they_did(name: str) -> None:
    assert structure(flows.ALL[name]) == STRUCTURES[name]
