"""What training code adds to the names of tensors: wrapped modules within them, and prefixes."""

from collections.abc import Iterator

WRAPPERS = frozenset(
    (
        "_orig_mod",  # torch.compile
        "_fsdp_wrapped_module",
        "_checkpoint_wrapped_module",
        "_forward_module",  # Lightning
        "base_layer",  # PEFT, where an adapter was added
    )
)
"""Names that modules of wrappers have: a model never has one of these."""
_TRAINED_COPY = "modules_to_save"
"""PEFT's module of copies that it trains, each under the name of its adapter."""
MOST_PREFIX_PARTS = 6


def without_wrappers(key: str) -> str:
    """Return a tensor's name without the modules that wrap others."""
    parts = key.split(".")
    if _TRAINED_COPY in parts[:-2]:
        place = parts.index(_TRAINED_COPY)
        del parts[place : place + 2]
    return ".".join(part for part in parts if part not in WRAPPERS)


def prefixes_of(key: str) -> Iterator[str]:
    """Yield the beginnings of a name that may be prefixes, each with its last dot."""
    parts = key.split(".")
    for count in range(1, min(len(parts) - 1, MOST_PREFIX_PARTS) + 1):
        yield ".".join(parts[:count]) + "."
