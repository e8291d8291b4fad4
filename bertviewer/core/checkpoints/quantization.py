"""Quantized weights in a checkpoint, recognised by names and dtypes of tensors, without values."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from bertviewer.core.checkpoints.stored import DTYPES, StoredTensor
from bertviewer.core.util.numbers import number_text
from bertviewer.core.util.text import shortened

METHODS: Mapping[str, str] = {
    "gptq": "GPTQ",
    "awq": "AWQ",
    "bitsandbytes": "bitsandbytes",
    "compressed-tensors": "compressed-tensors",
    "fp8": "FP8",
    "fbgemm_fp8": "FBGEMM FP8",
    "finegrained_fp8": "fine-grained FP8",
    "modelopt": "ModelOpt",
    "quip": "QuIP#",
    "exl2": "EXL2",
    "quanto": "quanto",
    "torchao": "torchao",
    "hqq": "HQQ",
    "mxfp4": "MXFP4",
    "eetq": "EETQ",
    "aqlm": "AQLM",
    "vptq": "VPTQ",
    "spqr": "SpQR",
    "higgs": "HIGGS",
    "quark": "Quark",
    "bitnet": "BitNet",
    "auto-round": "AutoRound",
    "int8": "8-bit integers",
}
"""Quantization methods: ``quant_method`` of transformers, and the usual name."""
UNKNOWN = "unknown"
_MAX_NAME = 40
_MAX_NESTED = 4  # compressed-tensors has the bits at a depth of 3

_FP8 = ("F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ")
_NARROW = ("F4", "F6_E2M3", "F6_E3M2")
_BYTES = ("I8", "U8")
_WORDS = ("I32", "I16", "U16", "U32", "I64")

# Names of tensors of codes: the parameter, and the suffix.
_CODES = re.compile(
    r"(?P<owner>.*?)(?:"
    r"\.(?P<packed>qweight|q_weight|weight_packed|W_q|Qidxs|codes|B)"
    r"|[.:_](?P<weight>_?(?:weight|bias))[.:_]_?(?P<data>data|qdata|int_data|packed)"
    r"|(?P<blocks>\.[^.]*)_blocks"
    r")$"
)
# Names of tensors that accompany codes: scales, zero points, and the way of packing.
_COMPANIONS = re.compile(
    r"^[.:_]?(?:_?(?:weight|bias)[.:_]?)?_?(?:"
    r"(?:\w+_)?scales?(?:_\w+)?|s|zeros?|zero_point|qzeros|shift|g_idx|SCB|format|absmax|quant_map"
    r"|nested_absmax|nested_quant_map|quant_state\..*|shape|packed|bitmask|compressed|q_groups"
    r"|q_invperm|codebooks?|codebook_id|SU|SV|Wscale|biases|tables|workspace|meta|nbits|group_size|axis|view_as_float"
    r"|unpack_view_dtype|compute_dtype|quant_scale|quant_zero|offload_meta|encoded_state_dict"
    r"|stores_quant_config|channel_wise|optimize|round_zero|packing|tensor_impl.*"
    r")$"
)
# Integers that are not codes: buffers next to weights.
_BUFFERS = re.compile(r"(ids?|index|mask|bias|weight|version|tracked|length|step|size)$")
# Names of tensors that only one method has, with its bits.
_KINDS: tuple[tuple[str, tuple[str, int | None]], ...] = (
    (r"weight\.(nested_)?(absmax|quant_map|quant_state)|absmax", ("bitsandbytes", 4)),
    (r"SCB|weight\.SCB", ("bitsandbytes", 8)),
    (r"weight_packed", ("compressed-tensors", None)),
    (r"weight_scale_2", ("modelopt", None)),
    (r"W_q", ("hqq", None)),
    (r"(.*_)?blocks$", ("mxfp4", 4)),
    (r"weight\._(data|shift)", ("quanto", 8)),
    (r"weight[.:_]_?(qdata|int_data)", ("torchao", 8)),
    (r"codebooks", ("aqlm", None)),
    (r"Qidxs", ("quip", None)),
    (r"q_weight", ("exl2", None)),
)


class Quantization(Struct, frozen=True):
    """How a checkpoint's weights are quantized.

    Attributes:
        method: ``quant_method`` of transformers, or ``UNKNOWN``.
        bits: of a code; ``None`` if unknown.
        tensors: number of weights that are stored as codes; 0 for a configuration alone.
    """

    method: str
    bits: int | float | None = None
    tensors: int = 0

    @property
    def title(self) -> str:
        """The method and the bits, as a part of a sentence."""
        name = METHODS.get(self.method, "" if self.method == UNKNOWN else self.method)
        if self.bits is None or (name.endswith("FP8") or name == METHODS["int8"]):
            return name or "an unknown method"
        bits = f"{number_text(self.bits)} bits"
        return f"{name}, {bits}" if name else bits


def packed_weights(tensors: Mapping[str, StoredTensor]) -> dict[str, str]:
    """Return the quantized weight that each stored tensor belongs to, by name.

    Keys are the names of codes and of the tensors that accompany them (scales, zero points,
    indices); values the name of the weight without quantization, as ``query.weight`` for
    ``query.qweight``. Tensors that are not quantized are left out.
    """
    weights = {
        name: weight for name, tensor in tensors.items() if (weight := _weight_of(name, tensor))
    }
    weights |= _unknown_codes(tensors, weights)
    owners: dict[str, str] = {}
    for weight in weights.values():
        owners[weight] = weight
        owners.setdefault(weight.removesuffix(".weight"), weight)
    found: dict[str, str] = {}
    for name in tensors:
        if name in weights:
            found[name] = weights[name]
            continue
        for at in _prefixes(name):
            if at in owners and _COMPANIONS.match(name[len(at) :]):
                found[name] = owners[at]
                break
    return found


def quantization_of(
    tensors: Mapping[str, StoredTensor] | None, settings: Any
) -> Quantization | None:
    """Return how weights are quantized, ``None`` if they are not.

    Args:
        tensors: of a checkpoint, ``None`` for a model without weights.
        settings: ``quantization_config`` of its configuration.
    """
    declared = settings if isinstance(settings, Mapping) else {}
    if tensors is None:
        return _declared(declared, 0) if declared else None
    packed = packed_weights(tensors)
    if not packed:
        return None
    count = len(set(packed.values()))
    inferred = _inferred(tensors, packed)
    if not declared:
        return Quantization(*inferred, count)
    found = _declared(declared, count)
    method = inferred[0] if found.method == UNKNOWN else found.method
    return Quantization(method, inferred[1] if found.bits is None else found.bits, count)


def _weight_of(name: str, tensor: StoredTensor) -> str:
    """Return the name of the weight that a tensor has codes of, "" if it has none."""
    last = name.rpartition(".")[2]
    if match := _CODES.fullmatch(name):
        is_codes = tensor.dtype in (*_FP8, *_NARROW, *_BYTES, *_WORDS)
        if match["blocks"] is not None:
            # A name may well end so: only bytes of several dimensions are packed.
            is_packed = tensor.dtype in _BYTES and len(tensor.shape) > 1
            return match["owner"] + match["blocks"] if is_packed else ""
        if match["packed"] is not None:
            return f"{match['owner']}.weight" if is_codes else ""
        # torchao and quanto keep 8-bit floats there too.
        return f"{match['owner']}.{match['weight'].lstrip('_')}" if is_codes else ""
    if tensor.dtype in (*_FP8, *_NARROW):
        return "" if re.search(r"scale(_inv|s|_\d+)?$", last) else name
    if tensor.dtype not in (*_BYTES, *_WORDS):
        return ""
    # Masks of causal attention are called bias too, and have four dimensions.
    is_bias = last == "bias" and len(tensor.shape) == 1
    is_weight = last.endswith(("weight", "_proj")) and len(tensor.shape) > 0
    return name if is_weight or is_bias else ""


def _unknown_codes(tensors: Mapping[str, StoredTensor], known: Mapping[str, str]) -> dict[str, str]:
    """Return the codes of an unknown method, with the weight that each belongs to.

    A module has codes if it has integers together with floats or other integers, and no weight.
    A method quantizes several modules: a single one of a kind is not quantized.
    """
    taken = {*tensors, *known.values()}
    parts: dict[str, dict[str, StoredTensor]] = {}
    for name, tensor in tensors.items():
        if tensor.dtype in (*_BYTES, *_WORDS) and not _BUFFERS.search(name) and tensor.shape:
            owner = name.rpartition(".")[0]
            if owner and f"{owner}.weight" not in taken:
                parts[owner] = {}
    if not parts:
        return {}
    for name, tensor in tensors.items():
        for end in (place for place, letter in enumerate(name) if letter == "."):
            if name[:end] in parts and name[end:] != ".bias":
                parts[name[:end]][name] = tensor
    kinds = {
        owner: tuple(sorted(name[len(owner) :] for name in own))
        for owner, own in parts.items()
        if sum(not _BUFFERS.search(name) for name in own) > 1
    }
    count = Counter(kinds.values())
    return {
        name: f"{owner}.weight"
        for owner, kind in kinds.items()
        if count[kind] > 1
        for name in parts[owner]
    }


def _prefixes(name: str) -> Iterator[str]:
    """Yield the part of a name before each separator, the longest first."""
    for place in range(len(name) - 1, 0, -1):
        if name[place] in ".:_":
            yield name[:place]


def _inferred(tensors: Mapping[str, StoredTensor], packed: Mapping[str, str]) -> tuple[str, Any]:
    """Return the method and the bits by the tensors that belong to the codes."""
    groups: dict[str, dict[str, StoredTensor]] = {}
    for name, weight in packed.items():
        groups.setdefault(weight, {})[name] = tensors[name]
    return Counter(_kind(weight, group) for weight, group in groups.items()).most_common(1)[0][0]


def _kind(weight: str, group: Mapping[str, StoredTensor]) -> tuple[str, Any]:
    owner = weight.removesuffix("weight").rstrip(".")
    parts = {name[len(owner) :].lstrip(".:_"): tensor for name, tensor in group.items()}
    for pattern, found in _KINDS:
        if any(re.match(pattern, part) for part in parts):
            return found
    if "qweight" in parts:
        return _gptq_or_awq(parts)
    dtype = next((it.dtype for name, it in group.items() if _weight_of(name, it)), "")
    if dtype in _FP8:
        return "fp8", 8
    if dtype in _NARROW:
        return UNKNOWN, DTYPES[dtype].bits
    return ("int8", 8) if dtype == "I8" else (UNKNOWN, None)


def _gptq_or_awq(parts: Mapping[str, StoredTensor]) -> tuple[str, Any]:
    """Distinguish GPTQ from AWQ, which packs codes along the columns instead of the rows."""
    codes, scales, zeros = (parts.get(name) for name in ("qweight", "scales", "qzeros"))
    if scales is None or len(codes.shape if codes else ()) != 2 or len(scales.shape) != 2:
        return "gptq", None
    columns = scales.shape[1]
    bits: int | None = None
    if zeros is not None and len(zeros.shape) == 2 and columns:
        bits = zeros.shape[1] * 32 // columns or None
    is_awq = "g_idx" not in parts and codes is not None and codes.shape[1] != columns
    return ("awq" if is_awq else "gptq"), bits


def _declared(settings: Mapping[str, Any], count: int) -> Quantization:
    method = settings.get("quant_method")
    is_bytes = settings.get("load_in_4bit") or settings.get("load_in_8bit")
    if not isinstance(method, str) or not method:
        method = "bitsandbytes" if is_bytes else UNKNOWN
    return Quantization(shortened(method, _MAX_NAME), _declared_bits(method, settings), count)


_BITS_KEYS = ("bits", "w_bit", "wbits", "nbits", "num_bits", "weight_bits")
_TYPE_KEYS = ("quant_type", "weights", "weight_dtype", "format", "fmt")


def _declared_bits(method: str, settings: Mapping[str, Any]) -> int | float | None:
    if settings.get("load_in_4bit") or settings.get("_load_in_4bit"):
        return 4
    if settings.get("load_in_8bit") or settings.get("_load_in_8bit") or "fp8" in method:
        return 8
    if method == "mxfp4":
        return 4
    for table in _nested(settings):
        for key in _BITS_KEYS:
            value = table.get(key)
            if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 32:
                return value
        for key in _TYPE_KEYS:
            value = table.get(key)
            if isinstance(value, str) and (match := re.search(r"(?:int|float|fp)_?(\d)", value)):
                return int(match[1])
    return None


def _nested(settings: Mapping[str, Any], depth: int = 0) -> Iterator[Mapping[str, Any]]:
    yield settings
    for value in settings.values():
        if isinstance(value, Mapping) and depth < _MAX_NESTED:
            yield from _nested(value, depth + 1)
