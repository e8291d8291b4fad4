"""Random damage to files: bytes, numbers, and the values of JSON."""

import json
import random
import re
from collections.abc import Callable
from typing import Any

Damage = Callable[[bytes, random.Random], bytes]

NUMBERS = (
    b"0", b"-1", b"1", b"2147483648", b"9223372036854775807", b"18446744073709551616",
    b"1e999", b"-0.0", b"0.5", b"NaN", b"9" * 400,
)  # fmt: skip
BYTES = b'\x00\xff\x80\n"\\{}[],:0-\xef\xbb\xbf'
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 7, 2**31, 2**63, 10**30, 0.5, 1e308, "", "\0", "../x",
    "/etc/passwd", "org/kernel", "💥", "\ud800", [], [1], [[]], {}, {"a": 1}, "x" * 5000,
    [0] * 3000,
)  # fmt: skip
KEYS = (
    "", "\0", "auto_map", "vocab_file", "merges_file", "tokenizer_file", "gguf_file", "vocab",
    "merges", "init_inputs", "name_or_path", "sp_model_kwargs", "tokenizer_class", "unk_token",
    "extra_special_tokens", "added_tokens_decoder", "model_specific_special_tokens",
    "fast_tokenizer_files", "chat_template", "backend", "model_max_length", "self",
)  # fmt: skip
"""Keys that are added, among them names of files."""


def one_of(*damages: Damage) -> Damage:
    """Return a damage that is one of these each time."""
    return lambda content, rng: rng.choice(damages)(content, rng)


def damage_bytes(content: bytes, rng: random.Random) -> bytes:
    """Return the content after one to three changes of bytes or numbers."""
    for _ in range(rng.randint(1, 3)):
        content = rng.choice(_DAMAGES)(content, rng)
    return content


def damage_json(content: bytes, rng: random.Random) -> bytes:
    """Return a JSON document with one or two of its values changed, removed or duplicated."""
    try:
        document = json.loads(content)
    except ValueError:
        return damage_bytes(content, rng)
    for _ in range(rng.randint(1, 2)):
        document = _changed(document, rng)
    return json.dumps(document).encode()


def damage_safetensors(content: bytes, rng: random.Random) -> bytes:
    """Return a safetensors file with another header, whose length is right, or other bytes."""
    length = int.from_bytes(content[:8], "little")
    header, values = content[8 : 8 + length], content[8 + length :]
    kind = rng.randrange(4)
    if kind == 0:
        return damage_bytes(content[: 8 + length], rng) + values
    if kind == 1:
        wrong = rng.choice((0, 1, length - 1, length + 1, 2**31, 2**63, 2**64 - 1))
        return wrong.to_bytes(8, "little") + header + values
    if kind == 2:
        return content[: rng.randrange(len(content))] + rng.randbytes(rng.randint(0, 3))
    header = rng.choice((damage_bytes, damage_json))(header, rng)
    return len(header).to_bytes(8, "little") + header + values


def _changed(value: Any, rng: random.Random) -> Any:
    """Return a JSON value in which a random part is changed."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        if rng.random() < 0.15:
            return {k: v for k, v in value.items() if k != key}
        if rng.random() < 0.1:
            return value | {rng.choice((*KEYS, key + "x")): value[key]}
        if rng.random() < 0.1:
            return value | {rng.choice(KEYS): rng.choice(VALUES)}
        return value | {key: _changed(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        number = rng.randrange(len(value))
        if rng.random() < 0.15:
            return value[:number]
        return [*value[:number], _changed(value[number], rng), *value[number + 1 :]]
    if isinstance(value, int) and rng.random() < 0.5:
        return value + rng.choice((-1, 1, 2, -value, value))
    return rng.choice(VALUES)


def _flip(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content or b"\0")
    changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _truncate(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randint(0, len(content))]


def _remove(content: bytes, rng: random.Random) -> bytes:
    start = rng.randint(0, len(content))
    return content[:start] + content[start + rng.randint(1, 50) :]


def _duplicate(content: bytes, rng: random.Random) -> bytes:
    start = rng.randint(0, len(content))
    return content[: start + rng.randint(1, 200)] + content[start:]


def _insert(content: bytes, rng: random.Random) -> bytes:
    start = rng.randint(0, len(content))
    new = bytes(rng.choice(BYTES) for _ in range(rng.randint(1, 8)))
    return content[:start] + new + content[start:]


def _change_number(content: bytes, rng: random.Random) -> bytes:
    numbers = [found.span() for found in re.finditer(rb"\d+", content)]
    if not numbers:
        return _insert(content, rng)
    start, stop = rng.choice(numbers)
    return content[:start] + rng.choice(NUMBERS) + content[stop:]


_DAMAGES: tuple[Damage, ...] = (_flip, _truncate, _remove, _duplicate, _insert, _change_number)
