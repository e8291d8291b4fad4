"""Self-attention and cross-attention, read from the forms in which models store them."""

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from bertviewer.core.checking import (
    big_bird,
    deberta,
    esm,
    modernbert,
    roformer,
    squeezebert,
    torch_attention,
)
from bertviewer.core.checking.attention_maths import (
    Attention,
    Projection,
    Rotation,
    check_cache,
    head_count,
    separate,
)
from bertviewer.core.checking.evaluator import Evaluator, Given
from bertviewer.core.checking.position_bias import t5_position_bias
from bertviewer.core.families.module_kind import ModuleKind
from bertviewer.core.frozen import frozen


@frozen
class AttentionForm:
    """One way to store attention.

    ``read`` takes what the module's ``forward`` takes. ``output`` names the child that mixes the
    heads' outputs, so that its input is where they can be seen; ``None`` where the module gives
    them itself, and "" where they cannot be seen. ``finish`` makes the module's result, the weights
    last; ``given`` brings what the module gave into the same form.
    """

    read: Callable[..., Attention]
    output: str | None
    finish: Callable[[Evaluator, Attention, Tensor, Tensor], Any]
    given: Callable[[Any], Any] = lambda output: output

    def __call__(self, module: Evaluator, *args: Any, **kwargs: Any) -> Any:
        """Recompute the module's whole result."""
        attention = self.read(module, *args, **kwargs)
        weights, mixed = attention.attend(module)
        return self.finish(module, attention, mixed, weights)


def _bert(
    module: Evaluator,
    hidden_states: Tensor,
    encoder_hidden_states: Given = None,
    attention_mask: Given = None,
    past_key_values: Any = None,
    **_: Any,
) -> Attention:
    check_cache(past_key_values, hidden_states.shape[1])
    heads = head_count(module, "num_attention_heads")
    source = encoder_hidden_states if module.kind is ModuleKind.BERT_CROSS_ATTENTION else None
    names = ("query", "key", "value")
    return separate(module, names, heads, hidden_states, source, attention_mask)


def _bert_self(
    module: Evaluator, hidden_states: Tensor, attention_mask: Given = None, *args: Any, **more: Any
) -> Attention:
    """BERT's self-attention has its mask second; its cross-attention has it third."""
    if args:
        more["past_key_values"] = args[0]
    return _bert(module, hidden_states, attention_mask=attention_mask, **more)


def _distilbert(
    module: Evaluator, hidden_states: Tensor, attention_mask: Given = None, **_: Any
) -> Attention:
    names = ("q_lin", "k_lin", "v_lin")
    return separate(
        module, names, head_count(module, "n_heads"), hidden_states, None, attention_mask
    )


def _gpt2(
    module: Evaluator,
    hidden_states: Tensor,
    past_key_values: Any = None,
    attention_mask: Given = None,
    encoder_hidden_states: Given = None,
    encoder_attention_mask: Given = None,
    **_: Any,
) -> Attention:
    check_cache(past_key_values, hidden_states.shape[1])
    heads = head_count(module, "n_head", "num_attention_heads")
    stored = module.below("c_attn")
    # Conv1D stores [in, out], the parts side by side.
    weight, bias = stored.weight().transpose(0, 1), stored.tensor("bias")
    crosses = encoder_hidden_states is not None
    width = weight.shape[0] // (2 if crosses else 3)
    parts = [Projection(weight, bias).rows(start, width) for start in range(0, len(weight), width)]
    if crosses:
        asked = module.below("q_attn")
        parts.insert(0, Projection(asked.weight().transpose(0, 1), asked.tensor("bias")))
    query, key, value = parts
    scale = (width // heads) ** -0.5 if module.config.get("scale_attn_weights", True) else 1.0
    if module.config.get("scale_attn_by_inverse_layer_idx"):
        scale /= module.number("layer_idx") + 1
    other = hidden_states if encoder_hidden_states is None else encoder_hidden_states
    mask = encoder_attention_mask if crosses else attention_mask
    causal = not crosses and mask is None and hidden_states.shape[1] > 1 and module.is_causal
    return Attention(
        query, key, value, heads, heads, scale, hidden_states, other, other, mask, is_causal=causal
    )


def _bart(
    module: Evaluator,
    hidden_states: Tensor,
    key_value_states: Given = None,
    past_key_values: Any = None,
    attention_mask: Given = None,
    **_: Any,
) -> Attention:
    check_cache(past_key_values, hidden_states.shape[1])
    side = "decoder" if "decoder" in module.path.split(".") else "encoder"
    heads = head_count(module, f"{side}_attention_heads")
    names = ("q_proj", "k_proj", "v_proj")
    return separate(module, names, heads, hidden_states, key_value_states, attention_mask)


def _llama(
    module: Evaluator,
    hidden_states: Tensor,
    position_embeddings: tuple[Tensor, Tensor],
    attention_mask: Given = None,
    past_key_values: Any = None,
    **_: Any,
) -> Attention:
    check_cache(past_key_values, hidden_states.shape[1])
    heads = head_count(module, "num_attention_heads")
    # Qwen3 normalises every head's queries and keys before it turns them.
    norms = (module.below("q_norm"), module.below("k_norm")) if module.has("q_norm") else None
    return separate(
        module,
        ("q_proj", "k_proj", "v_proj"),
        heads,
        hidden_states,
        None,
        attention_mask,
        key_heads=head_count(module, "num_key_value_heads", "num_attention_heads"),
        rotation=Rotation(*position_embeddings),
        norms=norms,
    )


def _t5(
    module: Evaluator,
    hidden_states: Tensor,
    mask: Given = None,
    key_value_states: Given = None,
    position_bias: Given = None,
    past_key_values: Any = None,
    **_: Any,
) -> Attention:
    check_cache(past_key_values, hidden_states.shape[1])
    heads = head_count(module, "num_heads")
    other = hidden_states if key_value_states is None else key_value_states
    if position_bias is None:
        position_bias = t5_position_bias(module, hidden_states.shape[1], other.shape[1])
    return separate(
        module,
        ("q", "k", "v"),
        heads,
        hidden_states,
        key_value_states,
        mask,
        # T5 does not divide the scores; the initial weights are smaller instead.
        scale=1.0,
        bias=position_bias,
    )


def _mpnet(
    module: Evaluator,
    hidden_states: Tensor,
    attention_mask: Given = None,
    position_bias: Given = None,
    **_: Any,
) -> Attention:
    heads = head_count(module, "num_attention_heads")
    return separate(
        module, ("q", "k", "v"), heads, hidden_states, None, attention_mask, bias=position_bias
    )


def _itself(_module: Evaluator, _attention: Attention, mixed: Tensor, weights: Tensor) -> Any:
    return mixed, weights


def _projected(name: str) -> Callable[[Evaluator, Attention, Tensor, Tensor], Any]:
    def finish(module: Evaluator, _attention: Attention, mixed: Tensor, weights: Tensor) -> Any:
        return module.below(name)(mixed), weights

    return finish


def _finish_albert(module: Evaluator, attention: Attention, mixed: Tensor, weights: Tensor) -> Any:
    """ALBERT's attention holds add & norm as well."""
    return module.below("LayerNorm")(attention.x + module.below("dense")(mixed)), weights


def _finish_t5(module: Evaluator, attention: Attention, mixed: Tensor, weights: Tensor) -> Any:
    return module.below("o")(mixed), attention.bias, weights


_BERT = AttentionForm(_bert_self, None, _itself)
_BIG_BIRD = AttentionForm(big_bird.read_attention, None, big_bird.finish)
_LLAMA = AttentionForm(_llama, "o_proj", _projected("o_proj"))

ATTENTIONS: Mapping[ModuleKind | None, AttentionForm] = {
    ModuleKind.BERT_SELF_ATTENTION: _BERT,
    ModuleKind.BERT_CROSS_ATTENTION: AttentionForm(_bert, None, _itself),
    ModuleKind.ALBERT_ATTENTION: AttentionForm(_bert_self, "dense", _finish_albert),
    ModuleKind.DISTILBERT_ATTENTION: AttentionForm(_distilbert, "out_lin", _projected("out_lin")),
    ModuleKind.GPT2_ATTENTION: AttentionForm(_gpt2, "c_proj", _projected("c_proj")),
    ModuleKind.BART_ATTENTION: AttentionForm(_bart, "out_proj", _projected("out_proj")),
    ModuleKind.LLAMA_ATTENTION: _LLAMA,
    ModuleKind.MISTRAL_ATTENTION: _LLAMA,
    ModuleKind.T5_ATTENTION: AttentionForm(_t5, "o", _finish_t5),
    ModuleKind.MPNET_ATTENTION: AttentionForm(_mpnet, "o", _projected("o")),
    ModuleKind.MODERNBERT_ATTENTION: AttentionForm(
        modernbert.read_attention, "Wo", _projected("Wo")
    ),
    ModuleKind.DEBERTA_ATTENTION: AttentionForm(deberta.read_attention, None, _itself),
    ModuleKind.ROFORMER_ATTENTION: AttentionForm(roformer.read_attention, None, _itself),
    ModuleKind.ESM_ATTENTION: AttentionForm(esm.read_attention, None, _itself),
    ModuleKind.BIG_BIRD_ATTENTION: _BIG_BIRD,
    ModuleKind.BIG_BIRD_SPARSE_ATTENTION: _BIG_BIRD,
    ModuleKind.SQUEEZEBERT_ATTENTION: AttentionForm(
        squeezebert.read_attention, None, _itself, squeezebert.given
    ),
    ModuleKind.TORCH_ATTENTION: AttentionForm(torch_attention.read, "", torch_attention.finish),
}
"""Every kind of attention that can be recomputed."""
