"""Claims of explanations, each checked on the real model with random weights.

``claim`` registers a function of an ``Explained`` for names of explanations.
"""

import copy
import re
from collections.abc import Callable
from math import sqrt
from typing import Any

import torch
from torch import Tensor, nn

from bertviewer.core.building.configurations import build_config
from bertviewer.core.building.models import build_on_meta
from bertviewer.core.explain.explanation import Answer
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.config_keys import CONFIG_KEYS
from bertviewer.core.sources.model_source import find_task
from bertviewer.core.tokenization.placeholder import PlaceholderTokenizer
from bertviewer.core.walkthrough.build import build_walkthrough
from bertviewer.core.walkthrough.counts import subtotal
from tests.core.formulas.claims import LAST, Note, is_refused
from tests.core.formulas.note_cases import TOKENS


def integers_in(text: str) -> list[int]:
    found = re.findall(r"(?<![\w.])\d[\d,]*\b(?!\.\d)", text)
    return [int(number.replace(",", "")) for number in found]


class Explained(Note, frozen=True):
    """An answer about a module of a model."""

    answer: Answer

    @property
    def text(self) -> str:
        return self.answer.text

    @property
    def question_numbers(self) -> list[int]:
        return integers_in(self.answer.question.replace("one of", "1 of"))

    @property
    def text_numbers(self) -> list[int]:
        return integers_in(self.text)

    @property
    def total(self) -> int:
        """The number of the model's parameters."""
        return sum(parameter.numel() for parameter in self.model.parameters())

    def paths_of(self, name: str) -> list[str]:
        """Return the paths of the model's modules with a name."""
        return [path for path, _ in self.model.named_modules() if path.endswith(name)]

    def tokens_of(self, text: str, pair: str | None = None) -> list[str]:
        """Return the tokens of a text in the style of the family's tokenizer."""
        config = {**self.config.to_dict(), "vocab_size": 30_000}
        return [one.text for one in PlaceholderTokenizer(config).tokenize(Sentence(text, pair))]

    def base_depends_on(self, position: int) -> set[int]:
        """Return the rows of the base model's output that depend on a token."""
        return self.case.moved(self.case.base, position)


Check = Callable[[Explained], bool]
CLAIMS: dict[str, Check] = {}
"""The check of each explanation, by name."""


def claim(*names: str) -> Callable[[Check], Check]:
    """Register the check of the explanations with these names."""

    def register(check: Check) -> Check:
        CLAIMS.update(dict.fromkeys(names, check))
        return check

    return register


def queries_of(module: Any) -> Tensor:
    """Return the weight of an attention's queries, alone or fused with keys and values."""
    names = ("query", "q_lin", "q_proj", "query_proj", "q", "c_attn", "Wqkv", "in_proj")
    found = next((getattr(module, name) for name in names if hasattr(module, name)), None)
    weight: Tensor = module.in_proj_weight if found is None else found.weight
    return weight


def query_shapes(it: Explained) -> tuple[torch.Size, torch.Size]:
    """Return the shape of the queries' weight, and that with two heads instead of 3 or 4."""
    is_attention = "Attention" in it.node.class_name
    path = it.node.path if is_attention else it.node.parent or ""
    values = it.config.to_dict()
    changed = {key: 2 for key in CONFIG_KEYS["heads"] if key in values}
    changed |= {key: 2 for key in CONFIG_KEYS["key/value heads"] if values.get(key) is not None}
    config = build_config({**values, **changed}, "test")
    other = build_on_meta(config, find_task(it.case.task), "test")
    models = (it.model, other)
    before, after = (queries_of(model.get_submodule(path)).shape for model in models)
    return before, after


@claim("heads")
def _(it: Explained) -> bool:
    heads, size, _, features, *_ = it.question_numbers
    before, after = query_shapes(it)
    return before == after and heads * size == features


@claim("heads-of-own-size")
def _(it: Explained) -> bool:
    heads, size, _, features, *_ = it.question_numbers
    before, after = query_shapes(it)
    return before[0] == features == heads * size and after[0] == 2 * size


@claim("shared-keys")
def _(it: Explained) -> bool:
    times = it.module.q_proj.out_features // it.module.k_proj.out_features
    return it.text.startswith(f"Every {times} query heads share one")


@claim("scale")
def _(it: Explained) -> bool:
    size = it.question_numbers[0]
    factor = getattr(it.module, "scaling", None)
    # ESM scales the queries before it rotates them, and has a factor of 1 afterwards.
    is_before = it.case.family == "esm" and factor == 1.0
    if isinstance(factor, float) and not is_before and abs(factor - size**-0.5) > 1e-6:
        return False
    names = ("attention_head_size", "head_dim", "key_value_proj_dim")
    sizes = [getattr(it.module, name) for name in names if hasattr(it.module, name)]
    return sizes[:1] in ([], [size])


@claim("unscaled")
def _(it: Explained) -> bool:
    ratio = float((it.module.k.weight.std() / it.module.q.weight.std()).detach())
    return abs(ratio / sqrt(it.text_numbers[-1]) - 1) < 0.25


@claim("mask")
def _(it: Explained) -> bool:
    states = []
    for last in (27, 31):
        ids = torch.arange(5, 5 + TOKENS)[None]
        ids[0, 3], ids[0, -1] = it.config.eos_token_id or 7, last
        mask = torch.ones_like(ids)
        mask[0, -1] = 0
        more = {"decoder_input_ids": ids} if it.config.is_encoder_decoder else {}
        with torch.no_grad():
            output = it.model(input_ids=ids, attention_mask=mask, output_hidden_states=True, **more)
        states.append((output.get("hidden_states") or output["encoder_hidden_states"])[-1][0])
    change = (states[0][:-1] - states[1][:-1]).abs().max()
    return bool(change < 1e-6 and states[0][-1].abs().max() > 1e-3)


@claim("causal-mask")
def _(it: Explained) -> bool:
    return min(it.moved(5)) == 5


@claim("distances")
def _(it: Explained) -> bool:
    side = it.node.path.partition(".")[0]
    tables = {
        name: tuple(parameter.shape)
        for name, parameter in it.model.named_parameters()
        if name.endswith("relative_attention_bias.weight") and name.startswith(side)
    }
    buckets, heads, count = it.text_numbers[:3]
    has_positions = any("position_embeddings" in name for name in it.parameter_names)
    stacks = {name.partition("block")[0] for name in tables}
    return (
        it.text.startswith("In addition to") == has_positions
        and set(tables.values()) == {(buckets, heads)}
        and len(tables) == len(stacks)
        and buckets * heads == count
    )


@claim("gamma", "gamma-alone", "gamma-of-rms")
def _(it: Explained) -> bool:
    if it.answer.name == "gamma":
        if it.text_numbers[3] != sum(parameter.numel() for parameter in it.module.parameters()):
            return False
    elif getattr(it.module, "bias", None) is not None:
        return False
    module, features = copy.deepcopy(it.module), it.text_numbers[0]
    rows = torch.randn(1, 4, *module.weight.shape)
    is_transposed = it.node.class_name.startswith("SqueezeBert")
    inputs = rows.transpose(1, 2) if is_transposed else rows
    with torch.no_grad():
        before = module(inputs)
        module.weight[0] += 1
        changed = (module(inputs) - before).abs() > 1e-6
        if "by its own factor 1 + γ" in it.text:
            module.weight.zero_()
            if module(inputs).abs().max() <= 0.1:
                return False
    changed = changed.transpose(1, 2) if is_transposed else changed
    # The first γ changes the first feature of all rows.
    expected = [[0, row, 0] for row in range(4)]
    return len(module.weight) == features and changed.nonzero().tolist() == expected


@claim("residual")
def _(it: Explained) -> bool:
    # A layer whose weights are 0 returns its input, at most normalised.
    before = {name: parameter.clone() for name, parameter in it.module.named_parameters()}
    norms = [m for m in it.module.modules() if type(m).__name__.endswith(("LayerNorm", "RMSNorm"))]
    of_norms = {id(parameter) for norm in norms for parameter in norm.parameters()}
    with torch.no_grad():
        for parameter in it.module.parameters():
            if id(parameter) not in of_norms:
                parameter.zero_()
        call = it.case.recorded("", 0, 5)[it.node.path][0]
        for name, parameter in it.module.named_parameters():
            parameter.copy_(before[name])
    inputs, outputs = call.first_input[0], call.first_output[0]
    if it.case.family == "squeezebert":
        inputs, outputs = inputs.T, outputs.T
    if it.node.class_name.startswith("Esm") or torch.allclose(inputs, outputs, atol=1e-5):
        return True
    pairs = zip(inputs, outputs, strict=True)
    return all(float(torch.corrcoef(torch.stack(pair))[0, 1]) > 0.99 for pair in pairs)


@claim("four-times", "other-width", "gated-width")
def _(it: Explained) -> bool:
    config = it.config.to_dict()
    width = int(next(config[key] for key in CONFIG_KEYS["width"] if key in config))
    shapes = [p.shape for p in it.module.parameters() if p.dim() > 1]
    # A convolution's second side is that of one group of features.
    sides = [side for shape in shapes for side in shape[: 2 if len(shape) == 2 else 1]]
    # A gate may be fused with the projection that it multiplies.
    inner = min((side for side in sides if side != width), default=width)
    if it.answer.name == "four-times":
        return inner == 4 * width
    if it.answer.name == "other-width":
        return str(inner) in it.text
    is_gated = sum(shape.numel() for shape in shapes) == 3 * inner * width
    return is_gated and f"{inner} inner features for vectors of size {width}" in it.text


@claim("pooler")
def _(it: Explained) -> bool:
    if it.text_numbers[0] != next(p.shape[0] for p in it.module.parameters()):
        return False
    if isinstance(it.module, nn.Linear):
        return True  # the model passes it the first row
    rows = torch.randn(1, 4, it.config.hidden_size)
    other = rows.clone()
    other[0, 1:] += 1
    return torch.equal(it.module(rows), it.module(other))


@claim("subtotal")
def _(it: Explained) -> bool:
    found = subtotal(build_walkthrough(it.case.architecture), it.case.architecture)
    assert found is not None
    on_top = tuple(f"{path}." for path in found.paths)
    named = it.model.named_parameters()  # a shared one by its first name
    without = sum(p.numel() for name, p in named if not name.startswith(on_top))
    is_right = found.parameters == without == it.question_numbers[0]
    return is_right and it.text_numbers[-1] == it.total


@claim("tied-weights")
def _(it: Explained) -> bool:
    words = it.text.split()
    names = {word.rstrip(",") for word in words[2 : words.index("belong")] if word != "and"}
    every = list(it.model.named_parameters(remove_duplicate=False))
    tied = {id(parameter) for name, parameter in every if name in names}
    same = {name for name, parameter in every if id(parameter) in tied}
    count = sum(parameter.numel() for _, parameter in every)
    return len(tied) == 1 and same == names and it.text_numbers[-2:] == [count, it.total]


@claim("shared-layers")
def _(it: Explained) -> bool:
    *_, stored, _, apart = it.text_numbers
    layers = it.config.num_hidden_layers
    return it.case.parameters_with(num_hidden_groups=layers) == it.total - stored + apart


@claim("start-token", "sentence-vector", "which-layer")
def _(it: Explained) -> bool:
    is_named = it.tokens_of("one two")[0] in it.text or it.answer.name == "which-layer"
    return is_named and 0 in it.base_depends_on(LAST)


@claim("end-token")
def _(it: Explained) -> bool:
    tokens = it.tokens_of("one", "two")
    end = tokens[-1]
    return it.text.startswith(end) and tokens.count(end) > 1 and tokens[0] != end


@claim("segments")
def _(it: Explained) -> bool:
    path = it.paths_of("token_type_embeddings")[0]
    table = it.model.get_submodule(path)
    embeddings = it.model.get_submodule(path.rpartition(".")[0])
    ids = torch.arange(5, 5 + TOKENS)[None]
    with torch.no_grad():
        one, other = (
            embeddings(input_ids=ids, token_type_ids=torch.full_like(ids, n)) for n in (0, 1)
        )
    shape = f"one of {table.num_embeddings} rows of {table.embedding_dim} numbers"
    return shape in it.text and bool(((one - other).abs().amax(-1) > 1e-7).all())


@claim("one-segment")
def _(it: Explained) -> bool:
    tables = map(it.model.get_submodule, it.paths_of("token_type_embeddings"))
    return [table.num_embeddings for table in tables] == [1]


@claim("mask-token")
def _(it: Explained) -> bool:
    mask = it.answer.question.split()[2]
    return mask in it.tokens_of(f"one {mask} two") and 0 in it.base_depends_on(LAST)


@claim("mask-token-of-generator")
def _(it: Explained) -> bool:
    mask = it.answer.question.split()[2]
    return "Electra" in type(it.model).__name__ and mask in it.tokens_of(f"one {mask} two")


@claim("positions")
def _(it: Explained) -> bool:
    limit = it.text_numbers[-1]
    if "decoder" in it.node.path or it.config.is_encoder_decoder:
        return bool(limit == it.config.max_position_embeddings)
    return not is_refused(it.case, limit) and is_refused(it.case, limit + 1)


@claim("last-token")
def _(it: Explained) -> bool:
    return LAST in it.base_depends_on(0) and LAST - 1 not in it.base_depends_on(LAST)
