"""Facts about model families that no code tells: special tokens, and names of modules.

Keys are ``model_type``s. Add the names of a new family here.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

CROSS_ATTENTIONS = frozenset(
    {
        *("crossattention", "cross_attention", "cross_attn"),
        *("EncDecAttention", "encoder_attn", "multihead_attn"),
    }
)
"""Names of a layer's cross-attention."""
Projection = Literal["query", "key", "value"]
PROJECTIONS: Mapping[str, Projection] = {
    **dict.fromkeys(("query", "q_lin", "q_proj", "query_proj", "q", "q_attn"), "query"),
    **dict.fromkeys(("key", "k_lin", "k_proj", "key_proj", "k"), "key"),
    **dict.fromkeys(("value", "v_lin", "v_proj", "value_proj", "v"), "value"),
}
"""Names of an attention's linear layers; the output of each has all heads side by side."""
ATTENTION_DROPOUTS = ("dropout", "attn_dropout", "attention_dropout")
"""Names of dropouts on attention probabilities."""
POSITION_TABLES = ("position_embeddings", "embed_positions", "wpe", "position_embedding")
"""Names of position embeddings."""
ROTARY_ANGLES = "encoder.embed_positions.weight"
"""Name of a tensor of rotary angles."""
DROPOUT = "Dropout"
"""Part of the names of all dropout classes."""


START_TOKENS = frozenset({"[CLS]", "<s>", "<cls>", "<bos>", "<|begin_of_text|>", "<|startoftext|>"})
"""First tokens, but XLNet's <cls> is the last; their vectors often represent the whole text."""

END_TOKENS = frozenset({"[SEP]", "</s>", "<sep>", "<eos>", "<|end_of_text|>", "<|endoftext|>"})
"""Tokens that end a sentence."""

MASK_TOKENS = frozenset({"[MASK]", "<mask>", "<special1>"})
"""Mask tokens; <special1> is XLM's."""

DISCRIMINATORS = frozenset({"electra"})
"""Discriminators, trained on another model's predictions: they never see mask tokens."""

LAST_TOKEN_STARTS = frozenset({"mbart", "plbart", "fsmt"})
"""Families whose decoder starts with the encoder's last token, such as mBART's language code."""

DECODER_STARTS = ("decoder_start_token_id", "bos_token_id", "pad_token_id")
"""Keys of the first token of other decoders, by priority.

transformers' models read the first, its ``generate`` the second, and T5 was trained with the third.
"""

LAST_ROW = -1  # in place of an id: the last one of the vocabulary


class Frame(Struct, frozen=True):
    """The special tokens around a text: spelling and id.

    An id is a number, ``LAST_ROW`` of the vocabulary, or the configuration's key for it.
    ``rows`` is the minimum size of the family's vocabulary.
    """

    first: tuple[str, int | str] | None
    last: tuple[str, int | str] | None
    mask: tuple[str, int | str] | None
    rows: int = 0


_BERT = Frame(("[CLS]", 101), ("[SEP]", 102), ("[MASK]", 103), rows=104)
_ROBERTA = Frame(("<s>", "bos_token_id"), ("</s>", "eos_token_id"), ("<mask>", LAST_ROW))
_END = ("</s>", "eos_token_id")

FRAMES: Mapping[str, Frame] = {
    **dict.fromkeys(("bert", "distilbert", "electra"), _BERT),
    "albert": Frame(("[CLS]", "bos_token_id"), ("[SEP]", "eos_token_id"), ("[MASK]", 4)),
    **dict.fromkeys(("roberta", "bart", "led", "mvp"), _ROBERTA),
}
"""Special tokens for a model without a tokenizer, by ``model_type``."""

ENCODER_DECODER_FRAMES: Mapping[str, Frame] = {"mbart": Frame(None, _END, ("<mask>", LAST_ROW))}
"""Those of encoder-decoder models; families not listed have ``ENCODER_DECODER_FRAME``."""
ENCODER_DECODER_FRAME = Frame(None, _END, None)
"""Classifiers read the vector of the end-of-text token, so every text needs one."""


def is_cross_attention(path: str) -> bool:
    """Return whether a module is a cross-attention, or inside one."""
    return not CROSS_ATTENTIONS.isdisjoint(path.split("."))


def reads_encoder(path: str) -> bool:
    """Return whether a module projects the encoder's output to keys or values."""
    return is_cross_attention(path) and PROJECTIONS.get(path.rpartition(".")[2]) in ("key", "value")
