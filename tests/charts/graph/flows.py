"""Flows written by hand: what a reduced trace of well-known layers is."""

from typing import Any

from bertviewer.core.schema.flow import Flow, Node
from bertviewer.core.schema.modules import Repeat
from tests.charts.graph.blocks import (
    bert_layer,
    deberta_attention,
    gpt2_block,
    llama_layer,
    mixtral_layer,
    t5_decoder_block,
)
from tests.charts.graph.nodes import (
    LENGTH,
    D,
    edges,
    ends,
    flow,
    node,
    norm,
)


def layers(path: str, class_name: str, count: int, **details: Any) -> Node:
    return node(
        path,
        path=path,
        class_name=class_name,
        repeat=Repeat(0, count - 1, count),
        macs=count * 10**7,
        **details,
    )


def whole_bert() -> Flow:
    nodes = (
        node("ids", "input", name="input_ids", shape=(1, LENGTH)),
        node("embeddings", path="embeddings", class_name="BertEmbeddings"),
        node("attention_mask", "input", shape=(1, LENGTH), name="attention_mask"),
        node("mask", "constant", "mask"),
        layers("encoder.layer", "BertLayer", 12),
        node("pooler", path="pooler", class_name="BertPooler", shape=(1, D)),
        node("out", "output", name="last_hidden_state"),
        node("out2", "output", name="pooler_output", shape=(1, D)),
    )
    return flow(
        "",
        "BertModel",
        nodes,
        edges(
            "ids > embeddings > encoder.layer > out",
            "encoder.layer > pooler > out2",
            "attention_mask > mask",
            ("mask > encoder.layer", "mask"),
        ),
    )


def whole_encoder_decoder() -> Flow:
    nodes = (
        node("ids", "input", name="input_ids", shape=(1, LENGTH)),
        node("shared", operation="embedding", path="shared", class_name="Embedding",
             details={"in_features": 32128, "out_features": D}),
        node("mask", "constant", "mask"),
        layers("encoder.block", "T5Block", 12),
        norm("encoder.final_layer_norm", "rms norm"),
        node("decoder_ids", "input", name="decoder_input_ids", shape=(1, LENGTH)),
        node("shared 2", operation="embedding", path="shared", class_name="Embedding",
             details={"in_features": 32128, "out_features": D}),
        node("causal", "constant", "mask", name="causal mask"),
        layers("decoder.block", "T5Block", 12),
        norm("decoder.final_layer_norm", "rms norm"),
        node("out", "output", name="last_hidden_state"),
    )  # fmt: skip
    return flow(
        "",
        "T5Model",
        nodes,
        edges(
            "ids > shared > encoder.block > encoder.final_layer_norm",
            ("mask > encoder.block", "mask"),
            "decoder_ids > shared 2 > decoder.block",
            ("encoder.final_layer_norm > decoder.block", "key"),
            ("causal > decoder.block", "mask"),
            ("mask > decoder.block", "mask"),
            "decoder.block > decoder.final_layer_norm > out",
        ),
    )


def many_layers(count: int = 100) -> Flow:
    first, last = ends()
    stack = [
        node(f"layers.{number}", path=f"layers.{number}", class_name="DifferentLayer")
        for number in range(count)
    ]
    way = " > ".join(["in", *(each.id for each in stack), "out"])
    return flow("", "DeepModel", (first, *stack, last), edges(way))


ALL = {
    "bert layer": bert_layer(),
    "gpt2 block": gpt2_block(),
    "llama layer": llama_layer(),
    "mixtral layer": mixtral_layer(),
    "t5 decoder block": t5_decoder_block(),
    "deberta attention": deberta_attention(),
    "whole bert": whole_bert(),
    "whole encoder-decoder": whole_encoder_decoder(),
}
