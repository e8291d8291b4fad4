"""Families whose modules are the same but for the name in front."""

BERT = ("Bert", "Roberta", "Electra", "XLMRoberta", "Camembert")
DEBERTA = ("Deberta", "DebertaV2")
POST_NORM = (*BERT, *DEBERTA, "RoFormer", "BigBird")
"""Families whose layers are BERT's but for the attention in them."""
BART = ("Bart", "MBart")
T5 = ("T5", "MT5")
LLAMA = ("Llama", "Mistral", "Qwen2", "Qwen3", "Gemma")
"""Decoders with rotated queries and keys and a gated network."""


def named(prefixes: tuple[str, ...], *endings: str) -> tuple[str, ...]:
    """Return every prefix with every ending."""
    return tuple(f"{prefix}{ending}" for ending in endings for prefix in prefixes)
