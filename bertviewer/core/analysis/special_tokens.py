"""The special tokens of the families, by what they are for."""

STARTS = frozenset({"[CLS]", "<s>", "<cls>", "<bos>", "<|begin_of_text|>", "<|startoftext|>"})
"""They stand before the text, XLNet's <cls> behind it; their vector often stands for it all."""

SEPARATORS = frozenset({"[SEP]", "</s>", "<sep>", "<eos>", "<|end_of_text|>", "<|endoftext|>"})
"""They end a sentence."""

MASKS = frozenset({"[MASK]", "<mask>", "<special1>"})
"""They hide a word that the model is to guess; <special1> is XLM's."""
