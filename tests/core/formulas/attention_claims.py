"""What notes on attention claim."""

import math
import re

import torch
from torch import Tensor, nn
from transformers.models.deberta.modeling_deberta import (
    build_relative_position as deberta_distances,
)
from transformers.models.deberta_v2.modeling_deberta_v2 import (
    build_relative_position as deberta_v2_distances,
)
from transformers.models.mpnet.modeling_mpnet import MPNetEncoder

from tests.core.formulas.claims import LAST, Note, claim, claims, is_normal
from tests.core.formulas.note_cases import LENGTH_KEYS, TOKENS, Case

HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads", "nhead")
SIDES = ("encoder_attention_heads", "decoder_attention_heads")
WIDTHS = ("hidden_size", "n_embd", "dim", "d_model")
QUERY = ("query.weight", "q_lin.weight", "q_proj.weight", "q.weight", "query_proj.weight")
SPLIT = r" The (\d+) features are split as \[(\d+), (\d+)\](.*)"
FREE = ": the number of heads does not change the parameter count"


_differences: dict[str, int] = {}


def difference_of_heads(case: Case) -> int:
    """Return the difference in parameters that another number of heads makes."""
    if str(case) not in _differences:
        _differences[str(case)] = _parameters_of_more_heads(case) - case.parameters_with()
    return _differences[str(case)]


def _parameters_of_more_heads(case: Case) -> int:
    config = case.model.config
    keys = [key for key in HEADS if key in case.values] or [k for k in SIDES if k in case.values]
    found = {key: getattr(config, key, None) for key in (*WIDTHS, "head_dim", "d_kv")}
    sizes = {key: size for key, size in found.items() if isinstance(size, int)}
    width = next(sizes[key] for key in WIDTHS if key in sizes)
    now = case.values[keys[0]]
    more = next(n for n in range(now + 1, width + 1) if width % n == 0 and width // n % 2 == 0)
    changes = dict.fromkeys(keys, more)
    if "num_key_value_heads" in case.values:
        changes["num_key_value_heads"] = more
    if case.family != "modernbert":  # as in a file, which has the head size that the model uses
        changes |= {key: sizes[key] for key in ("head_dim", "d_kv") if key in sizes}
    return case.parameters_with(**changes)


@claims(r"Why divide by √d_k\? .* has variance d_k = (\d+)\. .*")
def _(it: Note) -> bool:
    (size,) = it.numbers
    if it.case.family == "esm":  # it divides the queries, before they are rotated
        return bool(it.module.scaling == 1.0 and it.module.attention_head_size == size)
    return bool(abs(getattr(it.module, "scaling", size**-0.5) - size**-0.5) < 1e-9)


claim(
    lambda it: it.module.scaling == 1.0,
    r"This configuration does not divide the scores by √d_k",
)
claim(
    lambda it: abs(it.module.scaling - it.module.head_dim**-0.5) > 1e-6,
    r"This configuration scales the scores by a factor other than 1/√d_k",
)
claim(
    lambda it: (
        it.module.scaling == 1.0
        and abs(it.module.k.weight.std() / it.module.q.weight.std() / math.sqrt(*it.numbers) - 1)
        < 0.25
    ),
    r"The scores are not divided by the square root of d_k = (\d+): T5 initialises W_Q .*",
)


@claims(r"All (\d+) heads are stacked in the same three .*: head h has rows (\d+)h .*" + SPLIT)
def _(it: Note) -> bool:
    features, heads, size = map(int, it.groups[-4:-1])
    query = it.tensor(*QUERY)
    assert query is not None
    return query.shape[0] == features == heads * size and is_true_of_split(it, it.groups[-1])


@claims(
    r"c_attn\.weight holds the weights of (.*) side by side, (\d+) columns each\. .*" + SPLIT,
    r"The tensor in_proj_weight stacks the weights of (.*), (\d+) rows each\. .*" + SPLIT,
    r"Wqkv\.weight stacks the weights of (.*), (\d+) rows each\. .*" + SPLIT,
)
def _(it: Note) -> bool:
    each, features, heads, size = it.numbers
    stacked = it.tensor("c_attn.weight", "in_proj_weight", "Wqkv.weight")
    assert stacked is not None
    parts = re.findall(r"query|key|value", it.groups[0])
    return (
        max(stacked.shape) == len(parts) * each
        and each == features == heads * size
        and is_true_of_split(it, it.groups[-1])
    )


def is_true_of_split(it: Note, text: str) -> bool:
    difference = difference_of_heads(it.case)
    if text == FREE:
        return difference == 0
    if text == f"{FREE}, except for the distance biases":
        return difference > 0 and not difference % it.config.relative_attention_num_buckets
    if text == f"{FREE}, except for the table of angles":
        # One angle for two features of a head, as a sine and a cosine.
        fixed = [p for p in it.model.parameters() if not p.requires_grad]
        return difference < 0 and len(fixed) == 1 and not difference % fixed[0].shape[0]
    if text == f"{FREE}, except for the contact head":
        return difference > 0 and not difference % it.config.num_hidden_layers
    return text.startswith(". The configuration sets the head size separately") and difference > 0


@claims(
    r"in_proj\.weight stacks the heads, (\d+) rows each: the first (\d+) "
    r"are .*\. The (\d+) features are split as \[(\d+), (\d+)\]: the number of heads .*"
)
def _(it: Note) -> bool:
    rows, first, width, heads, size = it.numbers
    return (
        (first, heads) == (size, it.module.num_attention_heads)
        and heads * size == width
        and it.module.in_proj.weight.shape == (heads * rows, width)
        and rows == 3 * first
        and difference_of_heads(it.case) == 0
    )


@claims(
    r"The heads are stacked: query head h \(0 to (\d+)\) has rows (\d+)h .* \(0 to (\d+)\) has .*"
)
def _(it: Note) -> bool:
    last, size, last_key = it.numbers
    rows = (it.module.q_proj.weight.shape[0], it.module.k_proj.weight.shape[0])
    return rows == ((last + 1) * size, (last_key + 1) * size)


@claims(r"Grouped queries: (\d+) consecutive query heads .* have (\d+) rows instead of (\d+), .*")
def _(it: Note) -> bool:
    shared, keys, queries = it.numbers
    rows = (it.module.k_proj.weight.shape[0], it.module.q_proj.weight.shape[0])
    return rows == (keys, queries) and queries == shared * keys


claim(
    lambda it: {it.module.q_norm.weight.numel(), it.module.k_norm.weight.numel()} == {*it.numbers},
    r"Each head’s queries and keys are first normalised \(.* share the (\d+) scales of each\), .*",
)


@claims(r"Concat places the heads side by side\. .* is “(\w+)” in the sibling module “(\w+)”")
def _(it: Note) -> bool:
    parent = it.model.get_submodule(it.node.path.rpartition(".")[0])
    layer = getattr(getattr(parent, it.groups[1]), it.groups[0])
    return isinstance(layer, nn.Linear | nn.Conv1d)


claim(
    lambda it: set(it.module.query.kernel_size) == {1},
    r"The convolutions look at one position, like linear layers\. .*",
)


claim(
    lambda it: (
        rotates_by_position(it) and "token_type_embeddings" not in dict(it.module.named_children())
    ),
    r"There are no position vectors and no segments: attention rotates .*",
)


@claims(
    r"The rotation encodes the order of the tokens: .* The model’s “rotary_emb” computes .*",
    r"There are no position vectors: attention rotates queries and keys .*",
    r"Features i and i \+ (\d+) of a head form a point in a plane, .*",
)
def rotates_by_position(it: Note) -> bool:
    positions = [name for name in it.parameter_names if "position" in name]
    rotary = getattr(it.base, "rotary_emb", None) or getattr(it.base, "rotary_embeddings", None)
    if rotary is None:  # RoFormer's angles are a table of the stack
        return all("encoder.embed_positions" in name for name in positions)
    angles = [value for name, value in rotary.named_buffers() if name.endswith("inv_freq")]
    return not positions and all(len(angles[0]) == number for number in it.numbers)


@claims(
    r"The rotation encodes the order .* Values are (not )?(also )?rotated\. "
    r"The model’s “([\w.]+)” computes the angles"
)
def _(it: Note) -> bool:
    is_rotated = bool(getattr(it.config, "rotary_value", False))
    paths = [
        path for path, _ in it.model.named_modules() if f".{path}".endswith(f".{it.groups[2]}")
    ]
    return is_rotated is (it.groups[0] is None) and any(it.case.calls(path) for path in paths)


@claims(r"Positions enter here, not in the embeddings: every layer’s attention rotates .*")
def _(it: Note) -> bool:
    positions = [name for name in it.parameter_names if "position" in name]
    return positions == [f"{it.node.path}.embed_positions.weight"]


claim(
    lambda it: all(it.case.moved(it.node.path, at) == {*range(TOKENS)} for at in (0, LAST)),
    r"Every position attends to the whole sequence, in both directions",
)
claim(
    lambda it: {LAST, LAST - 1} <= it.case.moved(it.node.path, LAST),
    r"Every position attends in both directions, in layers with a window only to .*",
)
claim(
    lambda it: it.moved(5) == set(range(5, TOKENS)),
    r"Attention is causal: each position attends only to itself and earlier positions",
    r"The target is masked: each of its positions attends only to itself .*",
)
claim(
    lambda it: min(it.moved(5)) == 5,
    r"Attention is causal: each position .*, in layers with a window only .* nearest of them",
    r"Attention is causal: position s attends only to positions 0 to s, .*",
)


@claims(r"Sliding window: only positions less than (\d+) away are visible\. .*")
def _(it: Note) -> bool:
    if ".0." not in f".{it.node.path}":
        return True  # later layers have inputs that depend on positions outside of the window
    (window,) = it.numbers
    moved = it.case.moved(it.node.path, 6)
    return max(abs(row - 6) for row in moved) == min(window - 1, 6) and 6 in moved


claim(
    lambda it: "encoder" not in it.node.path.split(".") or "crossattention" in it.node.path,
    r"Queries come from the decoder, keys and values from the encoder’s output: .*",
)
claim(
    lambda it: any(
        re.search(r"(crossattention|encoder_attn|EncDecAttention)$", path)
        for path, _ in it.module.named_modules()
    ),
    r"Cross-attention runs only when encoder hidden states are given",
)
claim(
    lambda it: is_normal(it.output),
    r"This module contains the whole sub-layer: .*, residual connection and layer norm",
)
claim(
    lambda it: (
        hasattr(it.module, "self") and is_normal(it.output) is (it.groups[0] == "add & norm")
    ),
    r"Its children are the parts: “self” is the attention, “output” the output projection with "
    r"(add & norm|the residual connection)",
)
claim(
    lambda it: (
        isinstance(it.module.attn.o, nn.Linear) and isinstance(it.module.LayerNorm, nn.LayerNorm)
    ),
    r"The child “attn” is the attention .*; the norm belongs to this module",
)


@claims(r"The module has two inputs: .* X is the input of .*, that is, (the output .*)")
def _(it: Note) -> bool:
    before = it.case.calls(source_of_residual(it.node.path, it.groups[0]))[-1]
    residual = it.case.calls(it.node.path)[-1].arguments[1]
    return bool(residual.data_ptr() == before.first_output.data_ptr())  # possibly transposed


def source_of_residual(path: str, text: str) -> str:
    """Return the path of the module whose output is the residual, as a note describes it."""
    layer = path.partition(".attention")[0].removesuffix(".post_attention")
    if text.startswith("the output of the previous layer"):
        stack, _, number = layer.rpartition(".")
        root = layer[: layer.rindex("encoder.layer")]
        if int(number):
            return f"{stack}.{int(number) - 1}"
        return f"{root}embeddings{'_project' if 'embeddings_project' in text else ''}"
    block = "crossattention" if "cross-attention" in text else "attention"
    if ".layers." in path:  # SqueezeBERT's block has no module around it
        block = "post_attention"
    return f"{path.partition('.crossattention')[0].removesuffix('.output')}.{block}"


claim(
    lambda it: it.numbers[0] == 1 + len(it.config.pos_att_type) == len(it.groups[1].split("; ")),
    r"A score is the sum of (\d+) terms: (.*)\. No position vectors are added to .*",
    r"A score is the sum of (\d+) terms: (.*)",
)
claim(
    lambda it: it.numbers == (1 + len(it.module.pos_att_type), it.module.attention_head_size),
    r"Why divide by √\((\d+) × (\d+)\)\? .*",
)


@claims(r"R has (\d+) rows, .*: row (\d+) is for distance 0(?:, and .* than (\d+) may share .*)?")
def _(it: Note) -> bool:
    rows, middle, *limit = it.numbers
    module, x = it.module, torch.zeros(1, 32, 24)
    if it.case.family == "deberta":
        distances, span = deberta_distances(x, x)[0], module.max_relative_positions
    else:
        sizes = {"bucket_size": module.position_buckets}
        sizes["max_position"] = module.max_relative_positions
        distances, span = deberta_v2_distances(x, x, **sizes)[0], module.pos_ebd_size
    found = torch.clamp(distances + span, 0, 2 * span - 1)
    single = range((limit or [9])[0] + 1)
    return (
        it.base.encoder.rel_embeddings.weight.shape[0] == rows == 2 * span
        and int(found[3, 3]) == middle
        and len({int(found[9, 9 - distance]) for distance in single}) == len(single)
        and (bool(limit) or len(set(found[31].tolist())) == LENGTH_KEYS)
    )


@claims(r"The distances are projected with the same (.*) as the tokens, not with separate weights")
def _(it: Note) -> bool:
    used = {{"p2c": "W_Q", "c2p": "W_K"}[kind] for kind in it.module.pos_att_type}
    return set(it.groups[0].split(" and ")) == used and not hasattr(it.module, "pos_key_proj")


claim(
    lambda it: (
        any("position_embeddings" in name for name in it.parameter_names) is bool(it.groups[0])
    ),
    r"Positions enter (both )?here.* in the embeddings: .* vectors of the distances .*",
)

FAR = 400
BIAS = r"a bias on the scores, one number per head and distance bucket\.?(.*)"
ONE_WAY = re.compile(
    r" Here (?:all )?(\d+) buckets are for .* positions, from distance 0; the first (\d+) cover"
)
TWO_WAYS = re.compile(
    r" Here (\d+) buckets are for earlier positions, from distance 0, and (\d+) for later ones, "
    r"from distance 1; the first (\d+) and (\d+) of them, respectively, cover"
)
FURTHEST = re.compile(r"The others cover the distances up to (\d+) in logarithmic steps")


def buckets(it: Note, distances: list[int]) -> list[int]:
    """Return the model's bucket of each signed distance from a query to a key."""
    signed = torch.tensor([distances])
    if it.case.family == "mpnet":
        found: Tensor = MPNetEncoder.relative_position_bucket(signed)
    else:
        found = it.module._relative_position_bucket(
            signed,
            bidirectional=not it.module.is_decoder,
            num_buckets=it.config.relative_attention_num_buckets,
            max_distance=it.config.relative_attention_max_distance,
        )
    return found[0].tolist()


def used(found: list[int]) -> tuple[int, int]:
    """Return the number of buckets, and how many of the first have only one distance."""
    single = 0
    while single < len(found) and found.count(found[single]) == 1:
        single += 1
    return len(set(found)), single


@claims(
    r"(There are no position vectors): token order enters as " + BIAS,
    r"(Token order enters as position vectors), in the embeddings, and as " + BIAS,
)
def _(it: Note) -> bool:
    start, details = it.groups
    has_table = any("position_embeddings" in name for name in it.parameter_names)
    if has_table is not start.startswith("Token order"):
        return False
    back = used(buckets(it, [-distance for distance in range(FAR)]))
    if not details:
        if it.case.family == "mpnet":  # its code reads 32 rows of any table
            return bool(it.config.relative_attention_num_buckets != 32)
        sides = 1 if it.module.is_decoder else 2
        return bool(back[0] < it.config.relative_attention_num_buckets // sides)
    furthest = FURTHEST.search(details)
    described = TWO_WAYS.match(details) or ONE_WAY.match(details)
    assert furthest is not None
    assert described is not None
    far = int(furthest[1])
    if len(set(buckets(it, [-far, -far - 1, -FAR]))) > 1:
        return False
    ahead = used(buckets(it, list(range(1, FAR))))
    numbers = [int(number) for number in described.groups()]
    if len(numbers) == 2:
        return back[0] == numbers[0] and back[1] >= numbers[1] and ahead[0] == 1
    earlier, later, single, single_later = numbers
    return (
        (back[0], ahead[0]) == (earlier, later)
        and back[1] >= single == single_later + 1
        and ahead[1] >= single_later
    )


@claims(
    r"This module holds the table; all layers of the stack add the same bias",
    r"The first layer’s attention holds the table; all layers of the stack add .*",
    r"There are no position vectors: the first layer’s attention holds .*",
)
def _(it: Note) -> bool:
    stack = it.node.path.partition(".block")[0] if "block" in it.node.path else it.node.path
    names = [name for name, _ in it.model.get_submodule(stack).named_parameters()]
    held = [name for name in names if name.endswith("relative_attention_bias.weight")]
    return held == ["block.0.layer.0.SelfAttention.relative_attention_bias.weight"] and not any(
        "position" in name for name in it.parameter_names
    )


claim(
    lambda it: it.numbers in ((), tuple(it.base.encoder.relative_attention_bias.weight.shape)),
    r"The module “encoder” holds the table, relative_attention_bias; all layers .*",
    r"The table relative_attention_bias, \[(\d+), (\d+)\], has a row for each distance bucket .*",
)
claim(
    lambda it: len({layer.attn.sliding_window is None for layer in it.base.layers}) == 2,
    r"Some layers attend to the whole sequence, the others to a window around each position; .*",
)


@claims(r"Masks are passed by the caller: without a target mask, the decoder also attends .*")
def _(it: Note) -> bool:
    source, target = torch.randn(1, 4, 24), torch.randn(1, 4, 24)
    other = target.clone()
    other[0, 3] += 1
    with torch.no_grad():
        moved = it.module(source, target) - it.module(source, other)
    return bool(moved[0, 0].abs().max() > 1e-5)


claim(
    lambda it: it.config.attention_type == "block_sparse",
    r"In a long sequence, each position attends only to some blocks before and after it",
)
claim(
    lambda it: it.numbers == ((5 + 2 * it.config.num_random_blocks) * it.config.block_size,),
    r"A sequence of (\d+) positions or fewer has too few blocks: every position then attends .*",
)
claim(
    lambda it: (
        it.groups[1:] == ("one" if it.groups[0] == "1" else it.groups[0],)
        and int(it.groups[0]) == it.config.num_random_blocks
    ),
    r"During training, each block also attends to (\d+) blocks? drawn .* (one|\d+) more times?",
)
