"""Claims of explanations, each checked on the real model with random weights."""

import copy
import re
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from bertviewer.core.building.configurations import build_config
from bertviewer.core.building.models import build_on_meta
from bertviewer.core.explain.explanation import Answer
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.core.sources.config_keys import CONFIG_KEYS
from bertviewer.core.sources.model_source import find_task
from bertviewer.core.tokenization.placeholder import PlaceholderTokenizer
from bertviewer.core.walkthrough.build import build_walkthrough
from bertviewer.core.walkthrough.counts import subtotal
from tests.core.formulas.claims import LAST, is_refused, module_of, moved_from
from tests.core.formulas.note_cases import TOKENS, Case

Check = Callable[[Case, ModuleNode, Answer], bool]
CLAIMS: dict[str, Check] = {}
"""The check of each explanation, by name."""


def claims(*names: str) -> Callable[[Check], Check]:
    """Register the check of the explanations with these names."""

    def register(check: Check) -> Check:
        CLAIMS.update(dict.fromkeys(names, check))
        return check

    return register


def numbers_in(text: str) -> list[int]:
    """Return the whole numbers of a text, in order."""
    found = re.findall(r"(?<![\w.])\d[\d,]*\b(?!\.\d)", text)
    return [int(number.replace(",", "")) for number in found]


def attention_of(node: ModuleNode) -> str:
    """Return the path of the attention that a module is, or that its weight is part of."""
    return node.path if "Attention" in node.class_name else node.parent or ""


def queries(module: Any) -> Tensor:
    """Return the weight of an attention's queries, alone or fused with keys and values."""
    names = ("query", "q_lin", "q_proj", "query_proj", "q", "c_attn", "Wqkv", "in_proj")
    found = next((getattr(module, name) for name in names if hasattr(module, name)), None)
    weight: Tensor = module.in_proj_weight if found is None else found.weight
    return weight


def with_other_heads(case: Case, path: str) -> Tensor:
    """Return the queries' weight in a model with two heads where there were three or four."""
    values = case.model.config.to_dict()
    heads = {key: 2 for key in CONFIG_KEYS["heads"] if key in values}
    shared = {key: 2 for key in CONFIG_KEYS["key/value heads"] if values.get(key) is not None}
    config = build_config({**values, **heads, **shared}, "test")
    model = build_on_meta(config, find_task(case.task), "test")
    return queries(model.get_submodule(path))


@claims("heads")
def _(case: Case, node: ModuleNode, answer: Answer) -> bool:
    path = attention_of(node)
    heads, size, _, features, *_ = numbers_in(answer.question.replace("one of", "1 of"))
    same = with_other_heads(case, path).shape == queries(case.model.get_submodule(path)).shape
    return same and heads * size == features


@claims("heads-of-own-size")
def _(case: Case, node: ModuleNode, answer: Answer) -> bool:
    heads, size, _, features, *_ = numbers_in(answer.question.replace("one of", "1 of"))
    before = queries(module_of(case, node)).shape
    after = with_other_heads(case, node.path).shape
    return bool(before[0] == features == heads * size and after[0] == 2 * size)


@claims("shared-keys")
def _(case: Case, node: ModuleNode, answer: Answer) -> bool:
    module = module_of(case, node)
    times = module.q_proj.out_features // module.k_proj.out_features
    return answer.text.startswith(f"Every {times} query heads share one")


@claims("scale")
def _(case: Case, node: ModuleNode, answer: Answer) -> bool:
    module = module_of(case, node)
    size = numbers_in(answer.question)[0]
    factor = getattr(module, "scaling", None)
    # ESM scales the queries before it rotates them, and has a factor of 1 afterwards.
    is_before = case.family == "esm" and factor == 1.0
    if isinstance(factor, float) and not is_before and abs(factor - size**-0.5) > 1e-6:
        return False
    names = ("attention_head_size", "head_dim", "key_value_proj_dim")
    own = next((getattr(module, name) for name in names if hasattr(module, name)), None)
    return own is None or int(own) == size


@claims("unscaled")
def _(case: Case, node: ModuleNode, answer: Answer) -> bool:
    module = module_of(case, node)
    ratio = float((module.k.weight.std() / module.q.weight.std()).detach())
    return bool(abs(ratio / numbers_in(answer.text)[-1] ** 0.5 - 1) < 0.25)


@claims("mask")
def _(case: Case, _node: ModuleNode, _answer: Answer) -> bool:
    seen = [_states(case, token) for token in (27, 31)]
    kept = (seen[0][:-1] - seen[1][:-1]).abs().max()
    return bool(kept < 1e-6) and bool(seen[0][-1].abs().max() > 1e-3)


def _states(case: Case, last: int) -> Tensor:
    """Return the encoder's last hidden state, with a masked last token."""
    ids = torch.arange(5, 5 + TOKENS)[None]
    ids[0, 3] = case.model.config.eos_token_id or 7
    ids[0, -1] = last
    mask = torch.ones_like(ids)
    mask[0, -1] = 0
    more = {"decoder_input_ids": ids} if case.model.config.is_encoder_decoder else {}
    with torch.no_grad():
        output = case.model(input_ids=ids, attention_mask=mask, output_hidden_states=True, **more)
    states = output.get("hidden_states") or output["encoder_hidden_states"]
    rows: Tensor = states[-1][0]
    return rows


@claims("causal-mask")
def _(case: Case, node: ModuleNode, _answer: Answer) -> bool:
    return min(moved_from(case, node, 5)) == 5


@claims("distances")
def _(case: Case, node: ModuleNode, answer: Answer) -> bool:
    side = node.path.partition(".")[0]
    tables = {
        name: tuple(parameter.shape)
        for name, parameter in case.model.named_parameters()
        if name.endswith("relative_attention_bias.weight") and name.startswith(side)
    }
    buckets, heads, count = numbers_in(answer.text)[:3]
    has_table = any("position_embeddings" in name for name, _ in case.model.named_parameters())
    order = answer.text.startswith("In addition to") == has_table
    stacks = {name.partition("block")[0] for name in tables}
    return (
        order
        and set(tables.values()) == {(buckets, heads)}
        and len(tables) == len(stacks)
        and (buckets * heads == count)
    )


def _moved_feature(case: Case, node: ModuleNode) -> set[tuple[int, ...]]:
    """Return the (row, feature) at which a norm's output changes with the first gamma."""
    module = copy.deepcopy(module_of(case, node))
    shape = (1, 4, *module.weight.shape)
    taken = torch.randn(shape)
    turned = taken.transpose(1, 2) if node.class_name.startswith("SqueezeBert") else taken
    with torch.no_grad():
        before = module(turned)
        module.weight[0] += 1
        after = module(turned)
    rows = (after - before).abs() > 1e-6
    rows = rows.transpose(1, 2) if turned is not taken else rows
    return {(row, feature) for _, row, feature in rows.nonzero().tolist()}


@claims("gamma", "gamma-alone", "gamma-of-rms")
def _(case: Case, node: ModuleNode, answer: Answer) -> bool:
    module = module_of(case, node)
    if answer.name != "gamma" and getattr(module, "bias", None) is not None:
        return False
    if answer.name == "gamma" and numbers_in(answer.text)[3] != sum(
        parameter.numel() for parameter in module.parameters()
    ):
        return False
    if "by its own factor 1 + γ" in answer.text:
        with torch.no_grad():
            plain = copy.deepcopy(module)
            plain.weight.zero_()
            if not plain(torch.randn(1, 4, *module.weight.shape)).abs().max() > 0.1:
                return False
    features = numbers_in(answer.text)[0]
    return len(module.weight) == features and _moved_feature(case, node) == {
        (row, 0) for row in range(4)
    }


@claims("residual")
def _(case: Case, node: ModuleNode, _answer: Answer) -> bool:
    # A layer whose weights are 0 returns its input, at most normalised.
    layer = module_of(case, node)
    kept = {name: parameter.clone() for name, parameter in layer.named_parameters()}
    norms = [m for m in layer.modules() if type(m).__name__.endswith(("LayerNorm", "RMSNorm"))]
    own = {id(parameter) for norm in norms for parameter in norm.parameters()}
    with torch.no_grad():
        for parameter in layer.parameters():
            if id(parameter) not in own:
                parameter.zero_()
        call = case.recorded("", 0, 5)[node.path][0]
        for name, parameter in layer.named_parameters():
            parameter.copy_(kept[name])
    rows, given = call.first_input[0], call.first_output[0]
    if case.family == "squeezebert":
        rows, given = rows.T, given.T
    if node.class_name.startswith("Esm") or torch.allclose(rows, given, atol=1e-5):
        return True
    pairs = zip(rows, given, strict=True)
    return all(float(torch.corrcoef(torch.stack(pair))[0, 1]) > 0.99 for pair in pairs)


@claims("four-times", "other-width", "gated-width")
def _(case: Case, node: ModuleNode, answer: Answer) -> bool:
    config = case.model.config.to_dict()
    key = next(key for key in CONFIG_KEYS["width"] if key in config)
    width = int(config[key])
    shapes = [p.shape for p in module_of(case, node).parameters() if p.dim() > 1]
    # A convolution's second side is that of one group of features.
    sides = [side for shape in shapes for side in shape[: 2 if len(shape) == 2 else 1]]
    inner = [side for side in sides if side != width]
    # A gate may be fused with the projection that it multiplies.
    wide = min(inner) if inner else width
    if answer.name == "four-times" and wide != 4 * width:
        return False
    if answer.name != "gated-width":
        return str(wide) in answer.text or answer.name == "four-times"
    held = sum(shape.numel() for shape in shapes)
    return (
        held == 3 * wide * width
        and f"{wide} inner features for vectors of size {width}" in answer.text
    )


@claims("pooler")
def _(case: Case, node: ModuleNode, answer: Answer) -> bool:
    module = module_of(case, node)
    width = next(p.shape[0] for p in module.parameters())
    if numbers_in(answer.text)[0] != width:
        return False
    if isinstance(module, nn.Linear):
        return True  # the model passes it the first row
    rows = torch.randn(1, 4, case.model.config.hidden_size)
    other = rows.clone()
    other[0, 1:] += 1
    return torch.equal(module(rows), module(other))


@claims("subtotal")
def _(case: Case, _node: ModuleNode, answer: Answer) -> bool:
    found = subtotal(build_walkthrough(case.architecture), case.architecture)
    assert found is not None
    tops = tuple(f"{path}." for path in found.paths)
    named = case.model.named_parameters()  # a shared one by its first name
    outside = sum(p.numel() for name, p in named if not name.startswith(tops))
    total = sum(p.numel() for p in case.model.parameters())
    told = numbers_in(answer.question)
    return bool(found.parameters == outside == told[0] and numbers_in(answer.text)[-1] == total)


@claims("tied-weights")
def _(case: Case, _node: ModuleNode, answer: Answer) -> bool:
    words = answer.text.split()
    names = [word.rstrip(",") for word in words[: words.index("are")] if word != "and"]
    one, *others = (case.model.get_parameter(name) for name in names)
    named = {n for n, p in case.model.named_parameters(remove_duplicate=False) if p is one}
    every = sum(p.numel() for _, p in case.model.named_parameters(remove_duplicate=False))
    total = sum(p.numel() for p in case.model.parameters())
    is_one = all(other is one for other in others) and named == set(names)
    return bool(is_one and numbers_in(answer.text)[-2:] == [every, total])


@claims("shared-layers")
def _(case: Case, _node: ModuleNode, answer: Answer) -> bool:
    layers = case.model.config.num_hidden_layers
    *_, stored, _, apart = numbers_in(answer.text)
    total = sum(p.numel() for p in case.model.parameters())
    return bool(case.parameters_with(num_hidden_groups=layers) == total - stored + apart)


def words_of(case: Case, text: str, pair: str | None = None) -> list[str]:
    """Return the tokens of a text in the style of the family's tokenizer."""
    config = {**case.model.config.to_dict(), "vocab_size": 30_000}
    return [token.text for token in PlaceholderTokenizer(config).tokenize(Sentence(text, pair))]


@claims("start-token", "sentence-vector", "which-layer")
def _(case: Case, _node: ModuleNode, answer: Answer) -> bool:
    tokens = words_of(case, "one two")
    is_named = tokens[0] in answer.text or answer.name == "which-layer"
    return is_named and 0 in case.moved(case.base, LAST)


@claims("end-token")
def _(case: Case, _node: ModuleNode, answer: Answer) -> bool:
    tokens = words_of(case, "one", "two")
    places = [n for n, token in enumerate(tokens) if token == tokens[-1]]
    return answer.text.startswith(tokens[-1]) and len(places) > 1 and places[0] > 0


@claims("segments")
def _(case: Case, _node: ModuleNode, answer: Answer) -> bool:
    path = next(n for n, _ in case.model.named_modules() if n.endswith("token_type_embeddings"))
    table = case.model.get_submodule(path)
    embeddings = case.model.get_submodule(path.rpartition(".")[0])
    ids = torch.arange(5, 5 + TOKENS)[None]
    ones = torch.ones_like(ids)
    with torch.no_grad():
        given = [embeddings(input_ids=ids, token_type_ids=types) for types in (ones - 1, ones)]
    every = (given[0] - given[1]).abs().amax(-1)[0]
    shape = f"one of {table.num_embeddings} rows of {table.embedding_dim} numbers"
    return shape in answer.text and bool((every > 1e-7).all())


@claims("one-segment")
def _(case: Case, _node: ModuleNode, _answer: Answer) -> bool:
    tables = [m for n, m in case.model.named_modules() if n.endswith("token_type_embeddings")]
    return [table.num_embeddings for table in tables] == [1]


@claims("mask-token")
def _(case: Case, _node: ModuleNode, answer: Answer) -> bool:
    mask = answer.question.split()[2]
    tokens = words_of(case, f"one {mask} two")
    return mask in tokens and 0 in case.moved(case.base, LAST)


@claims("mask-token-of-generator")
def _(case: Case, _node: ModuleNode, answer: Answer) -> bool:
    mask = answer.question.split()[2]
    return "Electra" in type(case.model).__name__ and mask in words_of(case, f"one {mask} two")


@claims("positions")
def _(case: Case, node: ModuleNode, answer: Answer) -> bool:
    limit = numbers_in(answer.text)[-1]
    if "decoder" in node.path or case.model.config.is_encoder_decoder:
        return bool(limit == case.model.config.max_position_embeddings)
    return not is_refused(case, limit) and is_refused(case, limit + 1)


@claims("last-token")
def _(case: Case, _node: ModuleNode, _answer: Answer) -> bool:
    base = case.base
    is_seen = LAST in case.moved(base, 0)
    return is_seen and LAST - 1 not in case.moved(base, LAST)
