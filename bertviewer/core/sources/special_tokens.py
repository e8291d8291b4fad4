"""How families read a text: their special tokens, their positions, what their decoders begin with.

Models are named by the type that their configuration has; some have no modules described here.
"""

from collections.abc import Mapping

from msgspec import Struct

STARTS = frozenset({"[CLS]", "<s>", "<cls>", "<bos>", "<|begin_of_text|>", "<|startoftext|>"})
"""They stand before the text, XLNet's <cls> behind it; their vector often stands for it all."""

SEPARATORS = frozenset({"[SEP]", "</s>", "<sep>", "<eos>", "<|end_of_text|>", "<|endoftext|>"})
"""They end a sentence."""

MASKS = frozenset({"[MASK]", "<mask>", "<special1>"})
"""They hide a word that the model is to guess; <special1> is XLM's."""

READS_GUESSES = frozenset({"electra"})
"""Models trained on another one's guesses in place of masks, which they never see themselves."""

LAST_TOKEN_FIRST = frozenset({"mbart", "plbart", "fsmt"})
"""Their decoders begin with the encoder's last token: mBART's says which language a text is in."""

DECODER_STARTS = ("decoder_start_token_id", "bos_token_id", "pad_token_id")
"""The keys for the token that other decoders begin with.

What transformers' models take, then what its generation falls back on, then what T5 was trained
with.
"""

LAST_ROW = -1


class Frame(Struct, frozen=True):
    """The special tokens around a text, each as it is written and with its id.

    An id is a number, ``LAST_ROW`` of the vocabulary, or the configuration's key for it; a token
    that a family has not is empty. ``rows``: so many a vocabulary needs to be the family's own.
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
"""What stands around a text that no tokenizer reads, by the model's type."""

FRAMES_OF_PAIRS: Mapping[str, Frame] = {"mbart": Frame(None, _END, ("<mask>", LAST_ROW))}
"""Likewise, of models with an encoder and a decoder; other such models have the next one."""
FRAME_OF_PAIRS = Frame(None, _END, None)
"""Classifiers look for the end of the text."""
