"""What notes of BERT's kin claim: DeBERTa v1, RoFormer, ESM, BigBird, SqueezeBERT."""

import inspect
import math

import torch

from bertviewer.core.schema.modules import ModuleNode
from tests.core.formulas.attention_claims import difference_of_heads
from tests.core.formulas.claims import claims, module_of
from tests.core.formulas.note_cases import TOKENS, Case

Groups = tuple[str, ...]


@claims(
    r"in_proj\.weight stacks the heads, (\d+) rows each: the first (\d+) "
    r"are .*\. The (\d+) features are split as \[(\d+), (\d+)\]: the number of heads .*"
)
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    rows, own, width, heads, size = map(int, groups)
    module = module_of(case, node)
    shape = tuple(module.in_proj.weight.shape)
    splits = (own, heads) == (size, module.num_attention_heads) and heads * size == width
    return splits and shape == (heads * rows, width) and rows == 3 * own and (
        difference_of_heads(case) == 0
    )  # fmt: skip


@claims(r"Positions enter here, not in the embeddings: every layer’s attention rotates .*")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    names = [name for name, _ in case.model.named_parameters()]
    inside = f"{node.path}.embed_positions.weight"
    return [name for name in names if "position" in name] == [inside]


@claims(r"The table is listed as a tensor but is not trained")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    return module_of(case, node).weight.requires_grad is False


@claims(r"A subsequent linear layer can undo the order, so nothing is lost")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    # It is added to the hidden states; RoFormer's gives the angles of a rotation.
    return bool(module_of(case, node).weight.shape[1] == case.model.config.hidden_size)


@claims(r"The original Transformer interleaves sines and cosines; here the sines come first")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    row = module_of(case, node).weight[1]
    half = len(row) // 2
    return math.isclose(row[0], math.sin(1), abs_tol=1e-6) and math.isclose(
        row[half], math.cos(1), abs_tol=1e-6
    )


@claims(r"The rotation encodes the order .* Values are (not )?(also )?rotated\. "
        r"The model’s “([\w.]+)” computes the angles")  # fmt: skip
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    rotates = bool(getattr(case.model.config, "rotary_value", False))
    named = [name for name, _ in case.model.named_modules() if f".{name}".endswith(f".{groups[2]}")]
    return rotates is (groups[0] is None) and any(case.calls(name) for name in named)


@claims(r"“contact_head” is not part of a normal forward pass")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    return not case.calls(f"{node.path}.contact_head".strip("."))


@claims(r"It is called by predict_contacts and is not part of a normal forward pass")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    return not case.calls(node.path)


@claims(r"Attention to and from end-of-sequence tokens is set to 0 first")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    module, config = module_of(case, node), case.model.config
    maps = config.num_hidden_layers * config.num_attention_heads
    tokens = torch.full((1, 5), module.eos_idx + 1)
    tokens[0, 3] = module.eos_idx
    attention = torch.rand(1, config.num_hidden_layers, config.num_attention_heads, 5, 5)
    changed = attention.clone()
    changed[..., 3, :] = 7
    changed[..., :, 3] = 7
    assert maps == module.in_features
    return torch.equal(module(tokens, attention), module(tokens, changed))


@claims(r"Padding tokens give rows of zeros")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    mask = torch.ones(1, TOKENS, dtype=torch.long)
    mask[0, -2:] = 0
    module = module_of(case, node)
    name = "mask" if "mask" in inspect.signature(module.forward).parameters else "attention_mask"
    rows = module(torch.arange(5, 5 + TOKENS)[None], **{name: mask})
    return bool((rows[0, -2:] == 0).all() and (rows[0, :-2] != 0).any(-1).all())


@claims(r"A masked token gives a row of zeros\. In training, 15% .* compensates for this")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    module = module_of(case, node)
    tokens = torch.arange(5, 5 + TOKENS)[None]
    tokens[0, 2] = module.mask_token_id
    row = module.word_embeddings.weight[module.mask_token_id]
    before = module(tokens)
    with torch.no_grad():
        row += 1
        after = module(tokens)
        row -= 1
    return bool(module.token_dropout) and torch.equal(before, after)


@claims(r"In a long sequence, each position attends only to some blocks before and after it")
def _(case: Case, node: ModuleNode, _groups: Groups) -> bool:
    return bool(case.model.config.attention_type == "block_sparse")


@claims(
    r"A sequence of (\d+) positions or fewer has too few blocks: every position then attends .*"
)
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    config = case.model.config
    return bool(int(groups[0]) == (5 + 2 * config.num_random_blocks) * config.block_size)


@claims(r"During training, each block also attends to (\d+) blocks? drawn .* (one|\d+) more times?")
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    number = case.model.config.num_random_blocks
    return (int(groups[0]), groups[1]) == (number, "one" if number == 1 else str(number))


@claims(r"Convolutions need the features .* \[(\d+), S\], those of the stack \[S, (\d+)\]")
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    width = case.model.config.hidden_size
    layer = case.calls(f"{node.path}.layers.0")
    shapes = {call.given.shape for call in layer}
    return [int(group) for group in groups] == [width, width] and shapes <= {(1, width, TOKENS)}


@claims(
    r"It is equivalent to a linear layer"
    r"(?: with a block-diagonal matrix of (\d+) blocks: (\d+) times fewer weights and products)?"
)
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    module = module_of(case, node)
    outputs, inputs = module.out_channels, module.in_channels
    if {int(group) for group in groups if group} not in (set(), {module.groups}):
        return False
    blocks = module.weight[..., 0].chunk(module.groups)
    vectors = torch.randn(1, inputs, 4)
    parts = zip(vectors.transpose(1, 2).chunk(module.groups, -1), blocks, strict=True)
    product = torch.cat([part @ block.T for part, block in parts], -1) + module.bias
    is_fewer = module.weight.numel() * module.groups == outputs * inputs
    is_same = torch.allclose(module(vectors), product.transpose(1, 2), atol=1e-5)
    return bool(is_fewer and is_same)


@claims(r"The features are divided into (\d+) groups; .*")
def _(case: Case, node: ModuleNode, groups: Groups) -> bool:
    return bool(int(groups[0]) == module_of(case, node).groups)
