"""Flows of layers of some families, as they are drawn."""

from bertviewer.core.schema.flow import Flow, Node
from tests.charts.graph.nodes import (
    HEADS,
    D,
    attention,
    edges,
    ends,
    feed_forward,
    flow,
    gated,
    linear,
    node,
    norm,
    plus,
)


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
