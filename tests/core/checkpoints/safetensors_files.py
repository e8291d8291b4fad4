"""Contents of small safetensors files and indexes, valid and invalid."""

import json
from collections.abc import Mapping
from typing import Any

F32 = {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}
LFS = (
    b"version https://git-lfs.github.com/spec/v1\n"
    b"oid sha256:53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db\n"
    b"size 90864192\n"
)
"""A pointer of Git LFS."""


def packed(header: bytes | Mapping[str, Any], data: bytes = b"\0" * 16) -> bytes:
    """Return a file with this header, JSON or not, and its length."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


GOOD = packed({"__metadata__": {"format": "pt"}, "a": F32})


def index(weight_map: Any, **more: Any) -> bytes:
    """Return an index with the file of each tensor."""
    return json.dumps({"metadata": {"total_size": 16}, "weight_map": weight_map, **more}).encode()
