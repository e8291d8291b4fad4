"""Flows written by hand: what a reduced trace of well-known layers is."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from bertviewer.core.architecture.flow import Edge, Flow, Node, NodeKind
from bertviewer.core.architecture.module_node import Repeat

D, INNER, HEADS, LENGTH = 768, 3072, 12, 8
HIDDEN = (1, LENGTH, D)


def node(key: str, kind: NodeKind = "module", operation: str | None = None, **more: Any) -> Node:
    """Return a node; one of torch's layers is called by the end of its path."""
    more.setdefault("name", (more.get("path") or key).rpartition(".")[2].replace("_", " "))
    if kind == "module":
        more["name"] = (more.get("path") or key).rpartition(".")[2]
    more.setdefault("shape", HIDDEN)
    return Node(key, kind, operation=operation, **more)


def linear(key: str, taken: int = D, given: int = D) -> Node:
    return node(
        key,
        operation="linear",
        path=key,
        class_name="Linear",
        macs=LENGTH * taken * given,
        details={"in_features": taken, "out_features": given},
    )


def norm(key: str, operation: str = "layer norm") -> Node:
    return node(key, operation=operation, path=key, class_name="LayerNorm")


def attention(key: str = "attention", heads: int = HEADS, **details: Any) -> Node:
    return node(
        key,
        "group",
        "attention",
        details={"heads": heads, "head_size": D // HEADS, **details},
        macs=2 * LENGTH * LENGTH * D,
    )


def feed_forward(key: str, up: str, down: str, activation: str, inner: int = INNER) -> Node:
    nodes = (
        linear(up, D, inner),
        node(f"{key} bend", "operation", "activation", name=activation),
        linear(down, inner, D),
    )
    edges = (Edge(up, f"{key} bend"), Edge(f"{key} bend", down))
    return Node(
        key, "group", "feed-forward", operation="feed-forward", shape=HIDDEN, nodes=nodes,
        edges=edges, details={"activation": activation},
    )  # fmt: skip


def gated(key: str, inner: int = INNER) -> Node:
    nodes = (
        linear("mlp.up_proj", D, inner),
        linear("mlp.gate_proj", D, inner),
        node("bend", "operation", "activation", name="SiLU"),
        node("times", "operation", "mul", name="mul"),
        linear("mlp.down_proj", inner, D),
    )
    edges = (
        Edge("mlp.gate_proj", "bend"),
        Edge("bend", "times"),
        Edge("mlp.up_proj", "times"),
        Edge("times", "mlp.down_proj"),
    )
    return Node(
        key, "group", "gated feed-forward", operation="gated feed-forward", shape=HIDDEN,
        nodes=nodes, edges=edges, details={"activation": "SiLU"},
    )  # fmt: skip


def plus(key: str) -> Node:
    return node(key, "operation", "residual", name="add")


def ends(name: str = "hidden states") -> tuple[Node, Node]:
    return node("in", "input", name=name), node("out", "output", name="hidden states")


def edges(*ways: str | tuple[str, str]) -> tuple[Edge, ...]:
    """Return edges of ways as ``a > b > c``; a role stands beside the way."""
    found = []
    for way in ways:
        text, role = (way, None) if isinstance(way, str) else way
        names = [name.strip() for name in text.split(">")]
        found += [Edge(one, other, HIDDEN, ("1", "S", "D"), role) for one, other in pairwise(names)]
    return tuple(found)


def flow(path: str, name: str, nodes: Iterable[Node], ways: Sequence[Edge]) -> Flow:
    return Flow(path, name, tuple(nodes), tuple(ways))


def bert_layer(heads: int = HEADS) -> Flow:
    first, last = ends()
    nodes = (
        first,
        *(linear(f"attention.self.{name}") for name in ("query", "key", "value")),
        node("mask", "constant", "mask"),
        attention(heads=heads),
        linear("attention.output.dense"),
        plus("+1"),
        norm("attention.output.LayerNorm"),
        feed_forward("ffn", "intermediate.dense", "output.dense", "GELU"),
        plus("+2"),
        norm("output.LayerNorm"),
        last,
    )
    return flow(
        "encoder.layer.0",
        "BertLayer",
        nodes,
        edges(
            "in > attention.self.query",
            "in > attention.self.key",
            "in > attention.self.value",
            ("attention.self.query > attention", "query"),
            ("attention.self.key > attention", "key"),
            ("attention.self.value > attention", "value"),
            ("mask > attention", "mask"),
            "attention > attention.output.dense > +1",
            ("in > +1", "residual"),
            "+1 > attention.output.LayerNorm > ffn > +2",
            ("attention.output.LayerNorm > +2", "residual"),
            "+2 > output.LayerNorm > out",
        ),
    )


def gpt2_block() -> Flow:
    first, last = ends()
    nodes = (
        first,
        norm("ln_1"),
        linear("attn.c_attn", D, 3 * D),
        attention(causal=True),
        linear("attn.c_proj"),
        plus("+1"),
        norm("ln_2"),
        feed_forward("mlp", "mlp.c_fc", "mlp.c_proj", "GELU (tanh)"),
        plus("+2"),
        last,
    )
    return flow(
        "h.0",
        "GPT2Block",
        nodes,
        edges(
            "in > ln_1 > attn.c_attn",
            ("attn.c_attn > attention", "query"),
            ("attn.c_attn > attention", "key"),
            ("attn.c_attn > attention", "value"),
            "attention > attn.c_proj > +1",
            ("in > +1", "residual"),
            "+1 > ln_2 > mlp > +2",
            ("+1 > +2", "residual"),
            "+2 > out",
        ),
    )


_LLAMA_ATTENTION = edges(
    "in > input_layernorm > self_attn.q_proj > rotary q",
    "input_layernorm > self_attn.k_proj > rotary k",
    "input_layernorm > self_attn.v_proj",
    ("cos and sin > rotary q", "position"),
    ("cos and sin > rotary k", "position"),
    ("rotary q > attention", "query"),
    ("rotary k > attention", "key"),
    ("self_attn.v_proj > attention", "value"),
    "attention > self_attn.o_proj > +1",
    ("in > +1", "residual"),
)


def _llama_attention(first: Node) -> tuple[Node, ...]:
    return (
        first,
        norm("input_layernorm", "rms norm"),
        linear("self_attn.q_proj"),
        linear("self_attn.k_proj", D, D // 4),
        linear("self_attn.v_proj", D, D // 4),
        node("cos and sin", "constant", "positions", name="cos, sin"),
        node("rotary q", "group", "rotary", name="rotary"),
        node("rotary k", "group", "rotary", name="rotary"),
        attention(causal=True, key_value_heads=3),
        linear("self_attn.o_proj"),
        plus("+1"),
        norm("post_attention_layernorm", "rms norm"),
    )


def llama_layer() -> Flow:
    first, last = ends()
    return flow(
        "layers.0",
        "LlamaDecoderLayer",
        (*_llama_attention(first), gated("mlp"), plus("+2"), last),
        _LLAMA_ATTENTION
        + edges("+1 > post_attention_layernorm > mlp > +2", ("+1 > +2", "residual"), "+2 > out"),
    )


def mixtral_layer() -> Flow:
    first, last = ends()
    nodes = (
        *_llama_attention(first),
        node("mlp.gate", operation="routing", path="mlp.gate", details={"experts": 8, "chosen": 2}),
        node("experts", operation="experts", path="mlp.experts", details={"experts": 8}),
        plus("+2"),
        last,
    )
    return flow(
        "layers.0",
        "MixtralDecoderLayer",
        nodes,
        _LLAMA_ATTENTION
        + edges(
            "+1 > post_attention_layernorm > mlp.gate",
            ("mlp.gate > experts", "routing"),
            "post_attention_layernorm > experts > +2",
            ("+1 > +2", "residual"),
            "+2 > out",
        ),
    )


def t5_decoder_block() -> Flow:
    first, last = ends()
    nodes = (
        first,
        norm("layer.0.layer_norm", "rms norm"),
        *(linear(f"layer.0.SelfAttention.{name}") for name in "qkv"),
        node("table", "parameter", name="relative_attention_bias"),
        node("bias", "constant", "position bias", name="position bias"),
        node("mask", "constant", "mask"),
        attention("self"),
        linear("layer.0.SelfAttention.o"),
        plus("+1"),
        norm("layer.1.layer_norm", "rms norm"),
        node("encoder", "input", name="encoder hidden states"),
        *(linear(f"layer.1.EncDecAttention.{name}") for name in "qkv"),
        node("cross mask", "constant", "mask", name="mask"),
        attention("cross"),
        linear("layer.1.EncDecAttention.o"),
        plus("+2"),
        norm("layer.2.layer_norm", "rms norm"),
        feed_forward("ffn", "layer.2.DenseReluDense.wi", "layer.2.DenseReluDense.wo", "ReLU"),
        plus("+3"),
        last,
    )
    a, b = "layer.0.SelfAttention", "layer.1.EncDecAttention"
    return flow(
        "decoder.block.0",
        "T5Block",
        nodes,
        edges(
            f"in > layer.0.layer_norm > {a}.q",
            f"layer.0.layer_norm > {a}.k",
            f"layer.0.layer_norm > {a}.v",
            (f"{a}.q > self", "query"),
            (f"{a}.k > self", "key"),
            (f"{a}.v > self", "value"),
            "table > bias",
            ("bias > self", "bias"),
            ("mask > self", "mask"),
            f"self > {a}.o > +1",
            ("in > +1", "residual"),
            f"+1 > layer.1.layer_norm > {b}.q",
            f"encoder > {b}.k",
            f"encoder > {b}.v",
            (f"{b}.q > cross", "query"),
            (f"{b}.k > cross", "key"),
            (f"{b}.v > cross", "value"),
            ("cross mask > cross", "mask"),
            f"cross > {b}.o > +2",
            ("+1 > +2", "residual"),
            "+2 > layer.2.layer_norm > ffn > +3",
            ("+2 > +3", "residual"),
            "+3 > out",
        ),
    )


def deberta_attention() -> Flow:
    first, last = ends()
    nodes = (
        first,
        *(linear(f"self.{name}_proj") for name in ("query", "key", "value")),
        node("rel_embeddings", "parameter", name="rel_embeddings"),
        node("bias", "group", "position bias", name="position bias"),
        node("mask", "constant", "mask"),
        attention(),
        linear("output.dense"),
        plus("+"),
        norm("output.LayerNorm"),
        last,
    )
    return flow(
        "encoder.layer.0.attention",
        "DebertaV2Attention",
        nodes,
        edges(
            "in > self.query_proj",
            "in > self.key_proj",
            "in > self.value_proj",
            ("self.query_proj > attention", "query"),
            ("self.key_proj > attention", "key"),
            ("self.value_proj > attention", "value"),
            ("self.query_proj > bias", "query"),
            ("self.key_proj > bias", "key"),
            ("rel_embeddings > bias", "position"),
            ("bias > attention", "bias"),
            ("mask > attention", "mask"),
            "attention > output.dense > +",
            ("in > +", "residual"),
            "+ > output.LayerNorm > out",
        ),
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
