"""Claims of notes, evaluated on the built model.

``claim`` registers a function of a ``Note`` for patterns of texts. ``GENERAL`` are texts that state
no fact about the model.
"""

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from msgspec import Struct
from torch import Tensor, nn

from bertviewer.core.schema.modules import ModuleNode
from tests.core.formulas.note_cases import TOKENS, Case

Check = Callable[[Case, ModuleNode, tuple[str, ...]], bool]
LAST = TOKENS - 1
_CLAIMS: list[tuple[re.Pattern[str], Check]] = []
_TEXTS = (
    r"“\w+” holds the stack of layers",
    r"The lookup selects one row of the table\. .* without the multiplications by 0",
    r"Mean and variance are computed per position, over its features only\. .* is involved",
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
    r"Next-sentence prediction and .*, regardless of the sequence length",
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
    r"−∞ stands for the number that the code adds .* probability 0",
    r"A bracket is 1 where its condition is true .* masks a position",
    r"These are the steps of the code, traced from one forward pass .* are omitted",
)
GENERAL = re.compile("|".join(f"(?:{text})" for text in _TEXTS))


class Note(Struct, frozen=True):
    """A note on a module of a model, with the groups of the pattern that its text matches."""

    case: Case
    node: ModuleNode
    groups: tuple[str, ...]

    @property
    def model(self) -> Any:
        return self.case.model

    @property
    def config(self) -> Any:
        return self.model.config

    @property
    def module(self) -> Any:
        return module_of(self.case, self.node)

    @property
    def base(self) -> Any:
        """The model without its head."""
        return self.model.get_submodule(self.case.base)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The integers among the groups."""
        plain = (group.replace(",", "") for group in self.groups if group)
        return tuple(int(group) for group in plain if group.isdecimal())

    @property
    def parameter_names(self) -> list[str]:
        return [name for name, _ in self.model.named_parameters()]

    @property
    def input(self) -> Tensor:
        """The first tensor that the module is called with, a row for each position."""
        return self._rows(self.case.calls(self.node.path)[-1].first_input)

    @property
    def output(self) -> Tensor:
        return self._rows(self.case.calls(self.node.path)[-1].first_output)

    def _rows(self, tensor: Tensor) -> Tensor:
        # SqueezeBERT's layers have a column for each position, [B, D, S].
        is_transposed = self.case.family == "squeezebert" and tensor.shape[-1] == TOKENS
        return tensor.transpose(-1, -2) if is_transposed else tensor

    def tensor(self, *names: str) -> Tensor | None:
        """Return the first of these tensors below the module."""
        held = dict(self.module.named_parameters(remove_duplicate=False))
        return next((held[name] for name in names if name in held), None)

    def moved(self, position: int) -> set[int]:
        """Return which rows of the output depend on a token, of the target if there is one."""
        return moved_from(self.case, self.node, position)


def claim(check: Callable[[Note], bool], *patterns: str) -> None:
    """Register what evaluates the notes of these patterns."""

    def evaluate(case: Case, node: ModuleNode, groups: tuple[str, ...]) -> bool:
        return bool(check(Note(case, node, groups)))

    _CLAIMS.extend((re.compile(pattern), evaluate) for pattern in patterns)


def claims(*patterns: str) -> Callable[[Callable[[Note], bool]], Callable[[Note], bool]]:
    """Register the decorated function for these patterns."""

    def register(check: Callable[[Note], bool]) -> Callable[[Note], bool]:
        claim(check, *patterns)
        return check

    return register


@cache
def claim_of(note: str) -> tuple[Check, tuple[str, ...]] | None:
    """Return what evaluates a note; ``None`` for one that states no fact about the model."""
    for subject in ("embedding", "attention", "layer", "model"):
        import_module(f"tests.core.formulas.{subject}_claims")
    text = note.removesuffix(".")
    for pattern, check in _CLAIMS:
        if found := pattern.fullmatch(text):
            return check, found.groups()
    assert GENERAL.fullmatch(text), f"nothing evaluates the note: {note}"
    return None


def module_of(case: Case, node: ModuleNode) -> Any:
    return case.model.get_submodule(node.path)


def moved_from(case: Case, node: ModuleNode, position: int) -> set[int]:
    """Return which rows of an output depend on a token, the target's if there are two texts."""
    side = "decoder_" if case.model.config.is_encoder_decoder else ""
    return case.moved(node.path, position, side=side)


def drop_rates(module: nn.Module, *, deep: bool = True) -> str:
    """Return the probabilities of dropout in a module and below it, as notes list them."""
    parts = list(module.modules()) if deep else [module, *module.children()]
    rates = [value for part in parts for name, value in vars(part).items() if "drop" in name]
    rates += [part.p for part in parts if isinstance(part, nn.Dropout)]
    above = {rate for rate in rates if isinstance(rate, float) and rate > 0}
    return " or ".join(f"{rate:g}" for rate in sorted(above))


def is_normal(rows: Tensor) -> bool:
    """Return whether rows have mean 0 and variance 1, as after an initialised layer norm."""
    means, variances = rows.mean(-1), rows.var(-1, unbiased=False)
    return bool((means.abs() < 1e-4).all() and ((variances - 1).abs() < 0.05).all())


def is_refused(case: Case, length: int) -> bool:
    """Return whether a sequence is too long."""
    try:
        case.run(length=length)
    except (IndexError, RuntimeError):
        return True
    return False
