"""What notes on buckets of distances, tables, whole models and heads claim."""

import math
import re
from typing import Any

import torch
from torch import Tensor, nn
from transformers.models.mpnet.modeling_mpnet import MPNetEncoder

from bertviewer.core.schema.modules import ModuleNode
from tests.core.formulas.claims import claims, module_of, output_of, tensor_of
from tests.core.formulas.note_cases import Case

Groups = tuple[str, ...]
FAR = 400
BIAS = r"a bias on the scores, one number per head and distance bucket\.?(.*)"
BACK = re.compile(
    r" Here (?:all )?(\d+) buckets are for .* positions, from distance 0; the first (\d+) cover"
)
WAYS = re.compile(
    r" Here (\d+) buckets are for earlier positions, from distance 0, and (\d+) for later ones, "
    r"from distance 1; the first (\d+) and (\d+) of them, respectively, cover"
)
FURTHEST = re.compile(r"The others cover the distances up to (\d+) in logarithmic steps")


def buckets(case: Case, node: ModuleNode, distances: list[int]) -> list[int]:
    """Return the bucket of each signed distance from a query to a key, as the model finds it."""
    config, signed = case.model.config, torch.tensor([distances])
    number = config.relative_attention_num_buckets
    if case.family == "mpnet":
        found: Tensor = MPNetEncoder.relative_position_bucket(signed)
        return found[0].tolist()
    module = module_of(case, node)
    return module._relative_position_bucket(  # type: ignore[no-any-return]
        signed,
        bidirectional=not module.is_decoder,
        num_buckets=number,
        max_distance=config.relative_attention_max_distance,
    )[0].tolist()


def used(found: list[int]) -> tuple[int, int]:
    """Return how many buckets are met, and how many of the first stand for one distance each."""
    single = 0
    while single < len(found) and found.count(found[single]) == 1:
        single += 1
    return len(set(found)), single


@claims(r"(There are no position vectors): token order enters as " + BIAS,
        r"(Token order enters as position vectors), in the embeddings, and as " + BIAS)  # fmt: skip
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    words, steps = groups
    tables = [name for name, _ in case.model.named_parameters() if "position_embeddings" in name]
    if bool(tables) is not words.startswith("Token order"):
        return False
    if not steps:
        if case.family == "mpnet":  # its code reads 32 of the rows, whatever its table has
            return bool(case.model.config.relative_attention_num_buckets != 32)
        sides = 1 if module_of(case, node).is_decoder else 2
        rows = int(case.model.config.relative_attention_num_buckets) // sides
        return used(buckets(case, node, [-d for d in range(FAR)]))[0] < rows
    furthest = FURTHEST.search(steps)
    assert furthest is not None
    far = int(furthest[1])
    beyond = buckets(case, node, [-far, -far - 1, -FAR])
    back = used(buckets(case, node, [-d for d in range(FAR)]))
    ahead = used(buckets(case, node, list(range(1, FAR))))
    words_of_ways = WAYS.match(steps) or BACK.match(steps)
    assert words_of_ways is not None
    said = [int(number) for number in words_of_ways.groups()]
    if len(said) == 4:
        return (
            len(set(beyond)) == 1
            and (back[0], ahead[0]) == (said[0], said[1])
            and back[1] >= said[2]
            and ahead[1] >= said[3]
            and said[2] == said[3] + 1
        )
    return len(set(beyond)) == 1 and back[0] == said[0] and back[1] >= said[1] and ahead[0] == 1


@claims(r"This module holds the table; all layers of the stack add the same bias",
        r"The first layer’s attention holds the table; all layers of the stack add .*",
        r"There are no position vectors: the first layer’s attention holds .*")  # fmt: skip
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    stack = node.path if "block" not in node.path else node.path[: node.path.index(".block")]
    held = [
        name
        for name, _ in case.model.get_submodule(stack).named_parameters()
        if name.endswith("relative_attention_bias.weight")
    ]
    return held == ["block.0.layer.0.SelfAttention.relative_attention_bias.weight"] and (
        "position" not in " ".join(name for name, _ in case.model.named_parameters())
    )


@claims(r"The module “encoder” holds the table, relative_attention_bias; all layers .*",
        r"The table relative_attention_bias, \[(\d+), (\d+)\], has a row for each distance "
        r"bucket .*")  # fmt: skip
def _(case: Case, _node: ModuleNode, groups: Groups) -> bool:
    table = case.model.get_submodule(case.base).encoder.relative_attention_bias.weight
    return not any(groups) or tuple(table.shape) == tuple(map(int, groups))


@claims(
    r"Some layers attend to the whole sequence, the others to a window around each position; .*"
)
def _(case: Case, _node: ModuleNode, _groups: Groups) -> bool:
    layers = case.model.get_submodule(case.base).layers
    return len({layer.attn.sliding_window is None for layer in layers}) == 2


@claims(r"Encoder and decoder look up tokens in the same table, “shared”, \[(\d+), (\d+)\]: .*")
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    base = module_of(case, node)
    table = base.shared.weight
    return (
        tuple(table.shape) == tuple(map(int, groups))
        and base.encoder.embed_tokens.weight is table
        and base.decoder.embed_tokens.weight is table
    )


@claims(r"The factor is 1 in this configuration: this is a plain lookup",
        r"Every vector is multiplied by ([\d.]+)(, the square root of the embedding size (\d+))?"
        r"(: the table is initialised with small values, and .* added to them)?")  # fmt: skip
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    module = module_of(case, node)
    given = module(torch.tensor([[7]]))[0, 0]
    factor = float(groups[0]) if groups else 1.0
    width = module.weight.shape[1]
    plain = torch.allclose(given, module.weight[7] * factor, rtol=1e-3)
    if not groups or not plain:
        return plain
    root = groups[1] is None or (int(groups[2]) == width and abs(factor**2 - width) < 1e-2)
    tables = [name for name, _ in case.model.named_parameters() if "position" in name]
    return root and (groups[3] is None or (bool(tables) and module.weight.std().item() < 0.5))


@claims(r"The token vectors are multiplied by √(\d+), .* before the position encodings .*")
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    module = module_of(case, node)
    return int(groups[0]) == module.embedding.weight.shape[1] and has_factor(case, math.sqrt(24))


def has_factor(case: Case, factor: float) -> bool:
    """Tell whether a token's vector goes into the stack with this factor on it."""
    seen: list[Any] = []
    handle = case.model.transformer.encoder.register_forward_pre_hook(
        lambda _m, args, kwargs: seen.append([*args, *kwargs.values()][0]), with_kwargs=True
    )
    case.run(token=30)
    case.run(token=31)
    handle.remove()
    table = case.model.embedding.weight
    moved = (seen[1] - seen[0])[0, 0]
    return torch.allclose(moved, factor * (table[31] - table[30]), atol=1e-4)


@claims(r"Masks are passed by the caller: without a target mask, the decoder also attends .*")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    module: nn.Transformer = module_of(case, node)
    source, target = torch.randn(1, 4, 24), torch.randn(1, 4, 24)
    other = target.clone()
    other[0, 3] += 1
    with torch.no_grad():
        moved = module(source, target) - module(source, other)
    return bool(moved[0, 0].abs().max() > 1e-5)


@claims(r"Softmax over the classes converts the scores to probabilities")
def _(case: Case, _node: ModuleNode, _groups: Groups) -> bool:
    return bool(case.run().logits.shape[-1] > 1)


@claims(r"Every token is scored from its own hidden state with the same weights")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    last = tensor_of(case, node, "classifier.weight", "score.weight")
    assert last is not None
    return output_of(case, node)[1].shape[-1] == last.shape[0]


@claims(r"Source and target look up tokens in the same table")
def _(case: Case, _node: ModuleNode, _groups: tuple[str, ...]) -> bool:
    return sum(isinstance(module, nn.Embedding) for module in case.model.modules()) == 1
