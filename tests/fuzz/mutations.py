"""Damages files at random: bytes, numbers, and the values of JSON."""

import json
import random
import re
from collections.abc import Callable
from typing import Any

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
"""What a key may become, or be added as: names of files among them."""
_NUMBER = re.compile(rb"\d+")


def mutated(content: bytes, chance: random.Random) -> bytes:
    """Return the content after one to three damages."""
    for _ in range(chance.randint(1, 3)):
        content = chance.choice(_DAMAGES)(content, chance)
    return content


def mutated_json(content: bytes, chance: random.Random) -> bytes:
    """Return a JSON document with one or two of its values changed, dropped or doubled."""
    try:
        document = json.loads(content)
    except ValueError:
        return mutated(content, chance)
    for _ in range(chance.randint(1, 2)):
        document = _changed(document, chance)
    return json.dumps(document).encode()


def mutated_safetensors(content: bytes, chance: random.Random) -> bytes:
    """Return a safetensors file with another header, whose length is right, or other bytes."""
    length = int.from_bytes(content[:8], "little")
    header, values = content[8 : 8 + length], content[8 + length :]
    kind = chance.randrange(4)
    if kind == 0:
        return mutated(content[: 8 + length], chance) + values
    if kind == 1:
        wrong = chance.choice((0, 1, length - 1, length + 1, 2**31, 2**63, 2**64 - 1))
        return wrong.to_bytes(8, "little") + header + values
    if kind == 2:
        return content[: chance.randrange(len(content))] + chance.randbytes(chance.randint(0, 3))
    damage = chance.choice((mutated, mutated_json))
    header = damage(header, chance)
    return len(header).to_bytes(8, "little") + header + values


def _changed(value: Any, chance: random.Random) -> Any:
    """Walk down at random and change what is found there."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(list(value))
        if chance.random() < 0.15:
            return {k: v for k, v in value.items() if k != key}
        if chance.random() < 0.1:
            return value | {chance.choice((*KEYS, key + "x")): value[key]}
        if chance.random() < 0.1:
            return value | {chance.choice(KEYS): chance.choice(VALUES)}
        return value | {key: _changed(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.9:
        number = chance.randrange(len(value))
        if chance.random() < 0.15:
            return value[:number]
        return [*value[:number], _changed(value[number], chance), *value[number + 1 :]]
    if isinstance(value, int) and chance.random() < 0.5:
        return value + chance.choice((-1, 1, 2, -value, value))
    return chance.choice(VALUES)


def _flip(content: bytes, chance: random.Random) -> bytes:
    if not content:
        return b"\0"
    place = chance.randrange(len(content))
    return (
        content[:place] + bytes([content[place] ^ 1 << chance.randrange(8)]) + content[place + 1 :]
    )


def _cut(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randint(0, len(content))]


def _drop(content: bytes, chance: random.Random) -> bytes:
    start = chance.randint(0, len(content))
    return content[:start] + content[start + chance.randint(1, 50) :]


def _double(content: bytes, chance: random.Random) -> bytes:
    start = chance.randint(0, len(content))
    stop = start + chance.randint(1, 200)
    return content[:stop] + content[start:]


def _insert(content: bytes, chance: random.Random) -> bytes:
    start = chance.randint(0, len(content))
    new = bytes(chance.choice(BYTES) for _ in range(chance.randint(1, 8)))
    return content[:start] + new + content[start:]


def _renumber(content: bytes, chance: random.Random) -> bytes:
    places = [found.span() for found in _NUMBER.finditer(content)]
    if not places:
        return _insert(content, chance)
    start, stop = chance.choice(places)
    return content[:start] + chance.choice(NUMBERS) + content[stop:]


_DAMAGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _flip, _cut, _drop, _double, _insert, _renumber,
)  # fmt: skip
