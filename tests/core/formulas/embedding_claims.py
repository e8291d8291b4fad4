"""What notes on embeddings, positions, linear layers and dropout claim."""

import inspect
import math

import torch
from torch import nn

from tests.core.formulas.claims import Note, claim, claims, drop_rates, is_refused
from tests.core.formulas.note_cases import TOKENS


def tables(note: Note) -> list[nn.Embedding]:
    return [part for part in note.module.children() if isinstance(part, nn.Embedding)]


@claims(
    r"It has no parameters",
    r"This module computes the cosines .* It has no parameters",
    r"Sinusoids need no parameters: .*",
)
def _(it: Note) -> bool:
    if it.node.class_name == "TransformerBaseModel":
        return not [name for name in it.parameter_names if "posi" in name or "sinu" in name]
    return not list(it.module.parameters())


claim(
    lambda it: not list(it.module.parameters(recurse=False)),
    r"It has no parameters besides those of its members",
)
claim(lambda it: it.module.bias is None, r"This layer has no bias")
claim(
    lambda it: (
        it.module.weight.shape == (it.module.out_features, it.module.in_features)
        if isinstance(it.module, nn.Linear)
        else it.module.weight.shape == (it.module.nx, it.module.nf)
    ),
    *(r"PyTorch stores the weight as \[out, in\], .*", r"Conv1D stores the weight as \[in, .*"),
)
claim(
    # torch's attention uses the weights without a call; an encoder's output has 5 tokens.
    lambda it: (
        {tuple(call.first_input.shape[:-1]) for call in it.case.calls(it.node.path)}
        <= {(1, TOKENS), (TOKENS,), (1, 5), (5,)}
    ),
    r"x is the vector of one position; the same weights are applied to every position",
)
claim(
    lambda it: len({table.embedding_dim for table in tables(it)}) == 1 < len(tables(it)),
    r"The vectors are added, not concatenated, so their size stays the same",
)
claim(
    lambda it: all(table.weight.requires_grad for table in tables(it)),
    r"Square brackets denote the lookup of a table row; the tables are learnt",
)
claim(
    lambda it: it.module.token_type_embeddings.num_embeddings > 1,
    r"With a single sentence every g is 0, .*",
)
claim(
    lambda it: it.module.token_type_embeddings.num_embeddings == 1,
    r"There is only one segment, .*",
)
claim(
    lambda it: "token_type_embeddings" not in dict(it.module.named_children()),
    r"This model has no segments: .*",
)


@claims(
    r"The position table has (\d+) rows, which is the maximum sequence length",
    r"Positions are counted from padding_idx .* of the \d+ rows, (\d+) can be used .*",
    r"Positions are counted from \d+: .* so (\d+) of its \d+ rows can be used for tokens",
    r"Rows 0 to \d+ are never read: .* Of \d+ rows, (\d+) can be used for tokens",
)
def _(it: Note) -> bool:
    (longest,) = it.numbers
    if "decoder" in it.node.path:
        return bool(longest == it.config.max_position_embeddings)
    return not is_refused(it.case, longest) and is_refused(it.case, longest + 1)


@claims(
    r"Dropout \(p = (.*)\) follows the layer norm during training; .*",
    r"During training, dropout sets each entry of P to 0 with probability (.*); .*",
)
def _(it: Note) -> bool:
    return drop_rates(it.module, deep=False) == it.groups[0]


@claims(r"Dropout \(p = (.*)\) is active only during training; .* and is omitted here")
def _(it: Note) -> bool:
    return drop_rates(it.module) == it.groups[0]


@claims(r"padding_idx is (\d+): row \d+ is not updated during training\. .*")
def _(it: Note) -> bool:
    (row,) = it.numbers
    gradient = it.case.gradient(f"{it.node.path}.weight", row)
    return bool(gradient.any()) and not gradient[row].any()


@claims(r"padding_idx is (\d+): the lookup does not train row \d+, but the output layer .* does")
def _(it: Note) -> bool:
    (row,) = it.numbers
    fresh = nn.Embedding(it.module.num_embeddings, 3, padding_idx=it.module.padding_idx)
    fresh(torch.tensor([row])).sum().backward()
    assert fresh.weight.grad is not None
    gradient = it.case.gradient(f"{it.node.path}.weight", row)
    return not fresh.weight.grad.any() and bool(gradient[row].any())


@claims(
    r"The table is tied: it is the same tensor as (\S+) and is counted there",
    r"The weight is tied: it is the same tensor as (\S+), listed under both .*",
)
def _(it: Note) -> bool:
    owners = ("", "decoder.", "lm_head.", "vocab_projector.", "generator_lm_head.")
    tied = it.model.get_parameter(it.groups[0])
    return any(it.tensor(f"{owner}weight") is tied for owner in owners)


claim(
    lambda it: it.module.bias is it.module.decoder.bias,
    r"“bias” and “decoder\.bias” are two names for one tensor, which is added once",
)
claim(
    lambda it: not it.module.weight.requires_grad,
    r"The table is listed as a tensor but is not trained",
)
claim(
    # It is added to the hidden states; RoFormer's are the angles of a rotation.
    lambda it: it.module.weight.shape[1] == it.config.hidden_size,
    r"A subsequent linear layer can undo the order, so nothing is lost",
)


@claims(r"The original Transformer interleaves sines and cosines; here the sines come first")
def _(it: Note) -> bool:
    row = it.module.weight[1]
    first, middle = row[0].item(), row[len(row) // 2].item()
    return bool(abs(first - math.sin(1)) < 1e-6 and abs(middle - math.cos(1)) < 1e-6)


@claims(r"Padding tokens give rows of zeros")
def _(it: Note) -> bool:
    mask = torch.ones(1, TOKENS, dtype=torch.long)
    mask[0, -2:] = 0
    parameters = inspect.signature(it.module.forward).parameters
    name = "mask" if "mask" in parameters else "attention_mask"
    rows = it.module(torch.arange(5, 5 + TOKENS)[None], **{name: mask})
    return bool((rows[0, -2:] == 0).all() and (rows[0, :-2] != 0).any(-1).all())


@claims(r"A masked token gives a row of zeros\. In training, 15% .* compensates for this")
def _(it: Note) -> bool:
    tokens = torch.arange(5, 5 + TOKENS)[None]
    tokens[0, 2] = it.module.mask_token_id
    row = it.module.word_embeddings.weight[it.module.mask_token_id]
    before = it.module(tokens)
    with torch.no_grad():
        row += 1
        after = it.module(tokens)
        row -= 1
    return bool(it.module.token_dropout) and torch.equal(before, after)


@claims(
    r"The factor is 1 in this configuration: this is a plain lookup",
    r"Every vector is multiplied by ([\d.]+)(, the square root of the embedding size (\d+))?"
    r"(: the table is initialised with small values, and .* added to them)?",
)
def _(it: Note) -> bool:
    factor = float(it.groups[0]) if it.groups else 1.0
    vector = it.module(torch.tensor([[7]]))[0, 0]
    if not torch.allclose(vector, it.module.weight[7] * factor, rtol=1e-3):
        return False
    if not it.groups:
        return True
    width = it.module.weight.shape[1]
    is_root = not it.groups[1] or (int(it.groups[2]) == width and abs(factor**2 - width) < 1e-2)
    has_positions = any("position" in name for name in it.parameter_names)
    return is_root and (not it.groups[3] or (has_positions and it.module.weight.std() < 0.5))


@claims(r"The token vectors are multiplied by √(\d+), .* before the position encodings .*")
def _(it: Note) -> bool:
    inputs: list[torch.Tensor] = []
    handle = it.model.transformer.encoder.register_forward_pre_hook(
        lambda _m, args, kwargs: inputs.append([*args, *kwargs.values()][0]), with_kwargs=True
    )
    it.case.run(token=30)
    it.case.run(token=31)
    handle.remove()
    table = it.model.embedding.weight
    expected = math.sqrt(24) * (table[31] - table[30])
    is_scaled = torch.allclose((inputs[1] - inputs[0])[0, 0], expected, atol=1e-4)
    return is_scaled and it.numbers == (it.module.embedding.weight.shape[1],)


@claims(r"Encoder and decoder look up tokens in the same table, “shared”, \[(\d+), (\d+)\]: .*")
def _(it: Note) -> bool:
    base, table = it.module, it.module.shared.weight
    return tuple(table.shape) == it.numbers and (
        base.encoder.embed_tokens.weight is table and base.decoder.embed_tokens.weight is table
    )


claim(
    lambda it: sum(isinstance(module, nn.Embedding) for module in it.model.modules()) == 1,
    r"Source and target look up tokens in the same table",
)


@claims(r"The narrow embedding also saves parameters: the vocabulary table is only (\d+) wide")
def _(it: Note) -> bool:
    width = it.config.hidden_size
    projection = width * (width + 1)
    saved = it.case.parameters_with(embedding_size=width) - it.case.parameters_with()
    width_of_table = it.base.embeddings.word_embeddings.embedding_dim
    return it.numbers == (width_of_table,) and saved > projection
