"""What notes claim, evaluated on the built model: a pattern of words, and how it is looked up."""

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn

from bertviewer.core.schema.modules import ModuleNode
from tests.core.formulas.note_cases import TOKENS, Case

Check = Callable[[Case, ModuleNode, tuple[str, ...]], bool]
CLAIMS: list[tuple[re.Pattern[str], Check]] = []
LAST = TOKENS - 1


def claims(*patterns: str) -> Callable[[Check], Check]:
    """Register what evaluates the notes of these patterns; it is given the patterns' groups."""

    def register(check: Check) -> Check:
        CLAIMS.extend((re.compile(pattern), check) for pattern in patterns)
        return check

    return register


_TEXTS = (
    r"“\w+” holds the stack of layers",
    r"Square brackets denote the lookup of a table row",
    r"A lookup, not a product: it selects row t of the table\. .* without computing the zeros",
    r"Mean and variance are computed per position, over its features only; .* is involved",
    r"PyTorch divides by √\(variance \+ ε\)\. .* as its argument approaches 0",
    r"All figures here are for evaluation mode, where dropout is the identity",
    r"PyTorch scales the kept elements by 1 / \(1 − p\) during training, .* afterwards",
    r"Residual connection: each sub-layer’s input is added to its output, .* unchanged",
    r"Attention moves information between positions; .* independently",
    r"Each position is processed independently; only attention mixes positions",
    r"Without the non-linearity in between, the two linear layers would collapse into one",
    r"This is the exact form, computed with erf\. .* differ by less than 0\.001",
    r"Large positive values pass unchanged .* about −0\.17, near x = −0\.75",
    r"The tanh replaces the error function .* less than 0\.001",
    r"GPT-2 and ALBERT were trained with this form, .* trained with",
    r"It is cheaper but less accurate than the tanh form",
    r"The bounds keep values within the range of low-precision number formats",
    r"Near 0 it changes little; .* the gradient is small",
    r"Its slope is 1 above 0 and 0 below",
    r"Also known as Swish",
    r"Purpose: next-sentence prediction and .*, regardless of the sequence length",
    r"BERT’s pooler was trained on next-sentence prediction; .* not its objective",
    r"The paper does not mention this step; it comes from the code published with the paper",
    r"Scores \(logits\) are not yet probabilities: softmax over the vocabulary converts them",
    r"Entry 0 (of z )?scores .*, entry 1 .*",
    r"The sigmoid of a score is the probability that the token was replaced",
    r"Here softmax runs over the positions, once for the start and once for the end",
    r"Items labelled −100 are ignored",
    r"The mean square is computed per position, over its features only; .* is involved",
    r"The decoder’s input starts with decoder_start_token_id, .* of the target",
    r"Padding tokens are counted like any other; the mask prevents attention to them",
    r"Rotating a query and a key by their positions .* is encoded without position vectors",
    r"torch\.nn\.Transformer has neither embeddings nor .*; its inputs are already vectors",
    r"Each part has its own page",
    r"A bracket is 1 where its condition is true .* masks a position",
    r"These are the steps of the code, traced from one forward pass .* are omitted",
)
GENERAL = re.compile("|".join(f"(?:{text})" for text in _TEXTS))


@cache
def claim_of(note: str) -> tuple[Check, tuple[str, ...]] | None:
    """Return what evaluates a note; ``None`` for one that states no fact about the model."""
    for subject in ("attention", "kin", "layer", "model"):
        import_module(f"tests.core.formulas.{subject}_claims")
    text = note.removesuffix(".")
    for pattern, check in CLAIMS:
        if found := pattern.fullmatch(text):
            return check, found.groups()
    assert GENERAL.fullmatch(text), f"nothing evaluates the note: {note}"
    return None


def module_of(case: Case, node: ModuleNode) -> Any:
    """Return the real module."""
    return case.model.get_submodule(node.path)


def tensor_of(case: Case, node: ModuleNode, *names: str) -> Tensor | None:
    """Return the first of these tensors below a module."""
    held = dict(module_of(case, node).named_parameters(remove_duplicate=False))
    return next((held[name] for name in names if name in held), None)


def output_of(case: Case, node: ModuleNode) -> tuple[Tensor, Tensor]:
    """Return the first tensor that a module takes in a run, and the first that it gives."""
    call = case.calls(node.path)[-1]
    return _rows(case, call.taken), _rows(case, call.given)


def _rows(case: Case, tensor: Tensor) -> Tensor:
    """Return a row for each position; SqueezeBERT's layers have a column, [B, D, S]."""
    is_turned = case.family == "squeezebert" and tensor.shape[-1] == TOKENS
    return tensor.transpose(-1, -2) if is_turned else tensor


def dropouts(module: nn.Module, *, deep: bool = True) -> bool:
    """Tell whether a real module, or one below it, drops anything in training."""
    parts = list(module.modules()) if deep else [module, *module.children()]
    chances = [value for part in parts for name, value in vars(part).items() if "drop" in name]
    chances += [part.p for part in parts if isinstance(part, nn.Dropout)]
    return any(isinstance(chance, float) and chance > 0 for chance in chances)


def is_normal(rows: Tensor) -> bool:
    """Tell whether rows have mean 0 and variance 1, as a fresh layer norm gives them."""
    means, variances = rows.mean(-1), rows.var(-1, unbiased=False)
    return bool((means.abs() < 1e-4).all() and ((variances - 1).abs() < 0.05).all())


def is_refused(case: Case, length: int) -> bool:
    """Tell whether a sequence is too long."""
    try:
        case.run(length=length)
    except (IndexError, RuntimeError):
        return True
    return False


@claims(r"It has no parameters", r"This module computes the cosines .* It has no parameters",
        r"Sinusoids need no parameters: .*")  # fmt: skip
def _(case: Case, node: ModuleNode, _groups: tuple[str, ...]) -> bool:
    if node.class_name == "TransformerBaseModel":
        return not [n for n, _ in case.model.named_parameters() if "posi" in n or "sinu" in n]
    return not list(module_of(case, node).parameters())


@claims(r"It has no parameters besides those of its members")
def _(case: Case, node: ModuleNode, _groups: tuple[str, ...]) -> bool:
    return not list(module_of(case, node).parameters(recurse=False))


@claims(r"This layer has no bias")
def _(case: Case, node: ModuleNode, _groups: tuple[str, ...]) -> bool:
    return module_of(case, node).bias is None


@claims(
    r"PyTorch stores the weight as \[out, in\], .*", r"Conv1D stores the weight as \[in, out\], .*"
)
def _(case: Case, node: ModuleNode, _groups: tuple[str, ...]) -> bool:
    module = module_of(case, node)
    if isinstance(module, nn.Linear):
        return tuple(module.weight.shape) == (module.out_features, module.in_features)
    return tuple(module.weight.shape) == (module.nx, module.nf)


@claims(r"x is the vector of one position: the same weights are applied to every position .*")
def _(case: Case, node: ModuleNode, _groups: tuple[str, ...]) -> bool:
    shapes = {tuple(call.taken.shape[:-1]) for call in case.calls(node.path)}
    # torch's attention uses the weights without a call; what a decoder looks at has 5 tokens.
    return shapes <= {(1, TOKENS), (TOKENS,), (1, 5), (5,)}


@claims(r"Every position attends to the whole sequence, in both directions")
def _(case: Case, node: ModuleNode, _groups: tuple[str, ...]) -> bool:
    return case.moved(node.path, LAST) == case.moved(node.path, 0) == set(range(TOKENS))


@claims(r"Every position attends in both directions, in layers with a window only to .*")
def _(case: Case, node: ModuleNode, _groups: tuple[str, ...]) -> bool:
    return {LAST, LAST - 1} <= case.moved(node.path, LAST)


@claims(r"Attention is causal: each position attends only to itself and earlier positions",
        r"The target is masked: each of its positions attends only to itself .*")  # fmt: skip
def _(case: Case, node: ModuleNode, _groups: tuple[str, ...]) -> bool:
    return moved_from(case, node, 5) == set(range(5, TOKENS))


@claims(r"Attention is causal: each position .*, in layers with a window only .* nearest of them",
        r"Attention is causal: position s attends only to positions 0 to s, .*")  # fmt: skip
def _(case: Case, node: ModuleNode, _groups: tuple[str, ...]) -> bool:
    return min(moved_from(case, node, 5)) == 5


def moved_from(case: Case, node: ModuleNode, position: int) -> set[int]:
    """Return which rows move with a token, the target's where there are two sequences."""
    side = "decoder_" if case.model.config.is_encoder_decoder else ""
    return case.moved(node.path, position, side=side)


@claims(r"Only the first token is read\. Attention in every layer let it gather .*")
def _(case: Case, _node: ModuleNode, _groups: tuple[str, ...]) -> bool:
    return 0 in case.moved(case.base, LAST)


@claims(r"Only the first token is read\. In a decoder it attends to no other token, .*")
def _(case: Case, _node: ModuleNode, _groups: tuple[str, ...]) -> bool:
    return 0 not in case.moved(case.base, LAST)


@claims(r"The decoder’s last token has attended to the whole sequence; .*")
def _(case: Case, _node: ModuleNode, _groups: tuple[str, ...]) -> bool:
    return LAST in case.moved("model.decoder", 0, side="decoder_")


@claims(r"The pooler reads only the first token \(\[CLS\] in BERT\)")
def _(case: Case, node: ModuleNode, _groups: tuple[str, ...]) -> bool:
    module = module_of(case, node)
    rows = torch.randn(1, 4, module.config.hidden_size)
    other = rows.clone()
    other[0, 1:] += 1
    if isinstance(module.pooler, nn.Linear):
        return True  # ALBERT's is given the first row by the model; no other is there
    return torch.equal(module.pooler(rows), module.pooler(other))


@claims(r"This model has no pooler: .*", r"It replaces a pooler, which this model does not have",
        r"It belongs to the head: the base model has no pooler")  # fmt: skip
def _(case: Case, _node: ModuleNode, _groups: tuple[str, ...]) -> bool:
    return getattr(case.model.get_submodule(case.base), "pooler", None) is None


@claims(r"The vectors are added, not concatenated, so their size stays the same")
def _(case: Case, node: ModuleNode, _groups: tuple[str, ...]) -> bool:
    tables = [part for part in module_of(case, node).children() if isinstance(part, nn.Embedding)]
    return len({table.embedding_dim for table in tables}) == 1 < len(tables)


@claims(r"Square brackets denote the lookup of a table row; the tables are learnt")
def _(case: Case, node: ModuleNode, _groups: tuple[str, ...]) -> bool:
    tables = [part for part in module_of(case, node).children() if isinstance(part, nn.Embedding)]
    return all(table.weight.requires_grad for table in tables)


@claims(r"With a single sentence every g is 0, .*")
def _(case: Case, node: ModuleNode, _groups: tuple[str, ...]) -> bool:
    return bool(module_of(case, node).token_type_embeddings.num_embeddings > 1)


@claims(r"There is only one segment, .*")
def _(case: Case, node: ModuleNode, _groups: tuple[str, ...]) -> bool:
    return bool(module_of(case, node).token_type_embeddings.num_embeddings == 1)


@claims(r"This model has no segments: .*", r"There are no position vectors and no segments: .*")
def _(case: Case, node: ModuleNode, _groups: tuple[str, ...]) -> bool:
    names = dict(module_of(case, node).named_children())
    return "token_type_embeddings" not in names


@claims(r"The position table has (\d+) rows, which is the maximum sequence length",
        r"Positions are counted from padding_idx .* of the \d+ rows, (\d+) can be used .*",
        r"Positions are counted from \d+: .* so (\d+) of its \d+ rows can be used for tokens",
        r"Rows 0 to \d+ are never read: .* Of \d+ rows, (\d+) can be used for tokens")  # fmt: skip
def _(case: Case, node: ModuleNode, groups: tuple[str, ...]) -> bool:
    longest = int(groups[0])
    if "decoder" in node.path:
        return bool(longest == case.model.config.max_position_embeddings)
    return not is_refused(case, longest) and is_refused(case, longest + 1)


@claims(r"Dropout follows the layer norm during training; .*")
def _(case: Case, node: ModuleNode, _groups: tuple[str, ...]) -> bool:
    return dropouts(module_of(case, node), deep=False)


@claims(r"Dropout is active only during training; in evaluation mode .* and is omitted here")
def _(case: Case, node: ModuleNode, _groups: tuple[str, ...]) -> bool:
    return dropouts(module_of(case, node))


@claims(r"padding_idx is (\d+): row \d+ is not updated during training\. .*")
def _(case: Case, node: ModuleNode, groups: tuple[str, ...]) -> bool:
    gradient = case.gradient(f"{node.path}.weight", int(groups[0]))
    return bool(gradient.any()) and not gradient[int(groups[0])].any()


@claims(r"padding_idx is (\d+): the lookup does not train row \d+, but the output layer .* does")
def _(case: Case, node: ModuleNode, groups: tuple[str, ...]) -> bool:
    table, row = module_of(case, node), int(groups[0])
    fresh = nn.Embedding(table.num_embeddings, 3, padding_idx=table.padding_idx)
    fresh(torch.tensor([row])).sum().backward()
    assert fresh.weight.grad is not None
    gradient = case.gradient(f"{node.path}.weight", row)
    return not fresh.weight.grad.any() and bool(gradient[row].any())


@claims(r"The table is tied: it is the same tensor as (\S+) and is counted there",
        r"The weight is tied: it is the same tensor as (\S+), listed under both .*")  # fmt: skip
def _(case: Case, node: ModuleNode, groups: tuple[str, ...]) -> bool:
    names = ("weight", "decoder.weight", "lm_head.weight", "vocab_projector.weight")
    own = [tensor_of(case, node, name) for name in (*names, "generator_lm_head.weight")]
    return any(tensor is case.model.get_parameter(groups[0]) for tensor in own)


@claims(r"“bias” and “decoder\.bias” are two names for one tensor, which is added once")
def _(case: Case, node: ModuleNode, _groups: tuple[str, ...]) -> bool:
    return module_of(case, node).bias is module_of(case, node).decoder.bias
