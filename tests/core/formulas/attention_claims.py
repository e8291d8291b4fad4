"""What notes on attention claim."""

import math
import re

import torch
from torch import nn

from bertviewer.core.schema.modules import ModuleNode
from tests.core.formulas.claims import claims, dropouts, is_normal, module_of, output_of, tensor_of
from tests.core.formulas.note_cases import LENGTH_KEYS, Case

Groups = tuple[str, ...]
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads", "nhead")
SIDES = ("encoder_attention_heads", "decoder_attention_heads")
QUERY = ("query.weight", "q_lin.weight", "q_proj.weight", "q.weight", "query_proj.weight")
SPLIT = r" The (\d+) features are split as \[(\d+), (\d+)\](.*)"
FREE = ": the number of heads does not change the parameter count"


DIFFERENCES: dict[str, int] = {}


def difference_of_heads(case: Case) -> int:
    """Return the difference in parameters that another number of heads makes."""
    if str(case) not in DIFFERENCES:
        DIFFERENCES[str(case)] = count_with_other_heads(case)
    return DIFFERENCES[str(case)]


def count_with_other_heads(case: Case) -> int:
    config = case.model.config
    keys = [key for key in HEADS if key in case.values] or [k for k in SIDES if k in case.values]
    width = next(getattr(config, key) for key in ("hidden_size", "n_embd", "dim", "d_model")
                 if isinstance(getattr(config, key, None), int))  # fmt: skip
    now = case.values[keys[0]]
    more = next(n for n in range(now + 1, width + 1) if width % n == 0 and width // n % 2 == 0)
    both = {"num_key_value_heads": more} if "num_key_value_heads" in case.values else {}
    # As a file has it, whose head size is what the model took.
    sizes = {key: getattr(config, key) for key in ("head_dim", "d_kv") if hasattr(config, key)}
    sizes = {key: size for key, size in sizes.items() if isinstance(size, int)}
    if case.family == "modernbert":
        sizes = {}
    return case.parameters_with(**dict.fromkeys(keys, more), **both, **sizes) - (
        case.parameters_with()
    )


@claims(r"Why divide by √d_k\? .* has variance d_k = (\d+)\. .*")
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    scaling = getattr(module_of(case, node), "scaling", int(groups[0]) ** -0.5)
    if case.family == "esm":  # it divides the queries, before they are turned
        return bool(scaling == 1.0 and module_of(case, node).attention_head_size == int(groups[0]))
    return bool(abs(scaling - int(groups[0]) ** -0.5) < 1e-9)


@claims(r"This configuration does not divide the scores by √d_k")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    return bool(module_of(case, node).scaling == 1.0)


@claims(r"This configuration scales the scores by a factor other than 1/√d_k")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    module = module_of(case, node)
    return bool(abs(module.scaling - module.head_dim**-0.5) > 1e-6)


@claims(r"The scores are not divided by the square root of d_k = (\d+): T5 initialises W_Q .*")
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    module, size = module_of(case, node), int(groups[0])
    ratio = (module.k.weight.std() / module.q.weight.std()).item()
    return bool(module.scaling == 1.0) and abs(ratio / math.sqrt(size) - 1) < 0.25


@claims(r"All (\d+) heads are stacked in the same three .*: head h has rows (\d+)h .*" + SPLIT,
        r"The heads are stacked: .* \(0 to \d+\) .*, and .*" + SPLIT)  # fmt: skip
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    *_, features, heads, size, rest = groups
    query = tensor_of(case, node, *QUERY)
    assert query is not None
    return query.shape[0] == int(features) == int(heads) * int(size) and says_of_heads(case, rest)


@claims(r"c_attn\.weight holds the weights of (.*) side by side, (\d+) columns each\. .*" + SPLIT,
        r"The tensor in_proj_weight stacks the weights of (.*), (\d+) rows each\. .*" + SPLIT,
        r"Wqkv\.weight stacks the weights of (.*), (\d+) rows each\. .*" + SPLIT)  # fmt: skip
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    parts, each, features, heads, size, rest = groups
    stacked = tensor_of(case, node, "c_attn.weight", "in_proj_weight", "Wqkv.weight")
    assert stacked is not None
    total = max(stacked.shape)
    return (
        total == len(re.findall(r"query|key|value", parts)) * int(each)
        and int(each) == int(features) == int(heads) * int(size)
        and says_of_heads(case, rest)
    )


def says_of_heads(case: Case, rest: str) -> bool:
    difference = difference_of_heads(case)
    if rest == FREE:
        return difference == 0
    if rest == f"{FREE}, except for the distance biases":
        return difference > 0 and not difference % case.model.config.relative_attention_num_buckets
    if rest == f"{FREE}, except for the table of angles":
        # One angle for two entries of a head, of which it keeps sine and cosine.
        tables = [p for p in case.model.parameters() if not p.requires_grad]
        return difference < 0 and len(tables) == 1 and not difference % tables[0].shape[0]
    if rest == f"{FREE}, except for the contact head":
        return difference > 0 and not difference % case.model.config.num_hidden_layers
    return rest.startswith(". The configuration sets the head size separately") and difference > 0


@claims(
    r"The heads are stacked: query head h \(0 to (\d+)\) has rows (\d+)h .* \(0 to (\d+)\) has .*"
)
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    module = module_of(case, node)
    last, size, last_key = map(int, groups)
    rows = (module.q_proj.weight.shape[0], module.k_proj.weight.shape[0])
    return rows == ((last + 1) * size, (last_key + 1) * size)


@claims(r"Grouped queries: (\d+) consecutive query heads .* have (\d+) rows instead of (\d+), .*")
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    module = module_of(case, node)
    shared, keys, queries = map(int, groups)
    rows = (module.k_proj.weight.shape[0], module.q_proj.weight.shape[0])
    return rows == (keys, queries) and queries == shared * keys


@claims(
    r"Each head’s queries and keys are first normalised \(.* share the (\d+) scales of each\), .*"
)
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    module = module_of(case, node)
    return {module.q_norm.weight.numel(), module.k_norm.weight.numel()} == {int(groups[0])}


@claims(r"Concat places the heads side by side\. .* is “(\w+)” in the sibling module “(\w+)”")
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    block = case.model.get_submodule(node.path.rpartition(".")[0])
    return isinstance(getattr(getattr(block, groups[1]), groups[0]), nn.Linear | nn.Conv1d)


@claims(r"The convolutions look at one position, like linear layers\. .*")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    return set(module_of(case, node).query.kernel_size) == {1}


@claims(r"The rotation encodes the order of the tokens: .* The model’s “rotary_emb” computes .*",
        r"There are no position vectors: attention rotates queries and keys .*",
        r"There are no position vectors and no segments: attention rotates .*",
        r"Features i and i \+ (\d+) of a head form a point in a plane, .*")  # fmt: skip
def _(case: Case, _node: ModuleNode, groups: Groups) -> bool:
    base = case.model.get_submodule(case.base)
    positions = [name for name, _ in case.model.named_parameters() if "position" in name]
    turned = getattr(base, "rotary_emb", None) or getattr(base, "rotary_embeddings", None)
    if turned is None:  # RoFormer's angles are a table of the stack
        return positions == [name for name in positions if "encoder.embed_positions" in name]
    buffers = [b for name, b in turned.named_buffers() if name.endswith("inv_freq")]
    return not positions and all(not g or len(buffers[0]) == int(g) for g in groups)


@claims(r"Sliding window: only positions less than (\d+) away are visible\. .*")
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    if ".0." not in f".{node.path}":
        return True  # what it takes knows more by then; the first layer's rule is every layer's
    window = int(groups[0])
    moved = case.moved(node.path, 6)
    return max(abs(row - 6) for row in moved) == min(window - 1, 6) and 6 in moved


@claims(r"Queries come from the decoder, keys and values from the encoder’s output: .*")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    return "encoder" not in node.path.split(".") or "crossattention" in node.path


@claims(r"Cross-attention runs only when encoder hidden states are given")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    names = [name for name, _ in module_of(case, node).named_modules()]
    crosses = [n for n in names if re.search(r"(crossattention|encoder_attn|EncDecAttention)$", n)]
    return bool(crosses)


@claims(r"This module contains the whole sub-layer: .*, residual connection and layer norm")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    return is_normal(output_of(case, node)[1])


@claims(r"During training, dropout zeroes some entries of P; .*")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    return dropouts(module_of(case, node), deep=False)


@claims(
    r"Its children are the parts: “self” is the attention, “output” the output projection with "
    r"(add & norm|the residual connection)"
)
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    module = module_of(case, node)
    is_post = groups[0] == "add & norm"
    return hasattr(module, "self") and is_normal(output_of(case, node)[1]) is is_post


@claims(r"The child “attn” is the attention .*; the norm belongs to this module")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    module = module_of(case, node)
    return isinstance(module.attn.o, nn.Linear) and isinstance(module.LayerNorm, nn.LayerNorm)


@claims(r"The module has two inputs: .* R is the input of .*, that is, (the output .*)")
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    before = case.calls(giver(node.path, groups[0]))[-1]
    residual = case.calls(node.path)[-1].arguments[1]
    return bool(residual.data_ptr() == before.given.data_ptr())  # possibly transposed


def giver(path: str, words: str) -> str:
    """Return the module that gave what the words name."""
    layer = path.partition(".attention")[0].removesuffix(".post_attention")
    if words.startswith("the output of the previous layer"):
        stack, _, number = layer.rpartition(".")
        root = layer[: layer.rindex("encoder.layer")]
        if int(number):
            return f"{stack}.{int(number) - 1}"
        return f"{root}embeddings{'_project' if 'embeddings_project' in words else ''}"
    block = "crossattention" if "cross-attention" in words else "attention"
    if ".layers." in path:  # SqueezeBERT's block has no module around it
        block = "post_attention"
    return f"{path.partition('.crossattention')[0].removesuffix('.output')}.{block}"


@claims(r"A score is the sum of (\d+) terms: (.*)\. No position vectors are added to .*",
        r"A score is the sum of (\d+) terms: (.*)")  # fmt: skip
def _(case: Case, _node: ModuleNode, groups: Groups) -> bool:
    config = case.model.config
    return int(groups[0]) == 1 + len(config.pos_att_type) == len(groups[1].split("; "))


@claims(r"Why divide by √\((\d+) × (\d+)\)\? .*")
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    module = module_of(case, node)
    found = 1 + len(module.pos_att_type), module.attention_head_size
    return found == tuple(map(int, groups))


@claims(r"R has (\d+) rows, .*: row (\d+) is for distance 0(?:, and .* than (\d+) may share .*)?")
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    from transformers.models.deberta.modeling_deberta import build_relative_position as v1
    from transformers.models.deberta_v2.modeling_deberta_v2 import build_relative_position as v2

    module = module_of(case, node)
    rows, middle = int(groups[0]), int(groups[1])
    encoder = case.model.get_submodule(case.base).encoder
    x = torch.zeros(1, 32, 24)
    if case.family == "deberta":
        distances, span = v1(x, x)[0], module.max_relative_positions
    else:
        buckets, most = module.position_buckets, module.max_relative_positions
        distances = v2(x, x, bucket_size=buckets, max_position=most)[0]
        span = module.pos_ebd_size
    found = torch.clamp(distances + span, 0, 2 * span - 1)
    single = {int(found[9, 9 - d]) for d in range(int(groups[2] or 9) + 1)}
    return (
        encoder.rel_embeddings.weight.shape[0] == rows == 2 * span
        and int(found[3, 3]) == middle
        and len(single) == int(groups[2] or 9) + 1
        and (bool(groups[2]) or len(set(found[31].tolist())) == LENGTH_KEYS)
    )


@claims(r"The distances are projected with the same (.*) as the tokens, not with separate weights")
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    module = module_of(case, node)
    kinds = {"p2c": "W_Q", "c2p": "W_K"}
    used = {kinds[kind] for kind in module.pos_att_type}
    return set(groups[0].split(" and ")) == used and not hasattr(module, "pos_key_proj")


@claims(r"Positions enter (both )?here.* in the embeddings: .* vectors of the distances .*")
def _(case: Case, _node: ModuleNode, groups: Groups) -> bool:
    names = [name for name, _ in case.model.named_parameters() if "position_embeddings" in name]
    return bool(names) is bool(groups[0])
