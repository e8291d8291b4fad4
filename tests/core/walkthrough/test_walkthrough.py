"""Walkthroughs of many families: steps in the order of execution, with shapes and counts."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from msgspec.structs import replace

from bertviewer.core.building.transformer_base import register
from bertviewer.core.loading.deriving import with_flows
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.progress import no_progress
from bertviewer.core.walkthrough import build
from bertviewer.core.walkthrough import steps as step_notes
from bertviewer.core.walkthrough.build import TARGET, build_walkthrough
from bertviewer.core.walkthrough.walkthrough import Step, StepShape, Walkthrough, find_step
from tests.core.opened import derived, plain
from tests.core.walkthrough.small_walkthroughs import MORE, SMALL, config, flowing, small, step

register()

FAMILIES = [family for family in (*SMALL, *MORE) if family not in ("xlm-roberta", "camembert")]
ALIKE = {"mistral", "qwen2", "qwen3", "qwen3_moe", "mt5", "opt", "marian", "swin"}
"""Families that have no golden file, as they are like another one or like no text model."""

VARIANTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bert-masked-lm": ("bert", "masked-lm", {}),
    "distilbert-masked-lm": ("distilbert", "masked-lm", {}),
    "modernbert-masked-lm": ("modernbert", "masked-lm", {}),
    "bert-single-layer": ("bert", "base", {"num_hidden_layers": 1}),
    "bert-cross-attention": ("bert", "base", {"is_decoder": True, "add_cross_attention": True}),
    # Every third layer attends to the whole text, the others to a window.
    "modernbert": ("modernbert", "base", {"num_hidden_layers": 7}),
    "albert": ("albert", "base", {"num_hidden_layers": 4}),
    "albert-groups": (
        "albert",
        "base",
        {"num_hidden_layers": 4, "num_hidden_groups": 2, "inner_group_num": 2},
    ),
    "roberta": ("roberta", "base", {"type_vocab_size": 1}),
    "clip": ("clip", "base", {"projection_dim": 20}),
}
CASES = {**{family: (family, "base", {}) for family in FAMILIES}, **VARIANTS}


def as_text(walkthrough: Walkthrough) -> str:
    """Return a walkthrough for a golden file; each note only at its first step."""
    lines, notes = [], {""}
    for section in walkthrough.sections:
        times = f", {section.symbols or section.times} times" if section.times > 1 else ""
        lines.append(f"{section.title} ({section.kind}{times}): {section.parameters:,}")
        for at in section.steps:
            shapes = [shape.text for shape in (at.input_shape, at.output_shape) if shape]
            counts = [text for text in (at.count.symbols, at.count.numbers) if text]
            lines.append(f"  {at.number}. {at.name}: {' -> '.join(shapes)}".rstrip(" :"))
            lines += [f"       {location}" for location in at.locations]
            if counts or at.count.parameters:
                lines.append(f"       {' = '.join([*counts, f'{at.count.parameters:,}'])}")
            if at.note not in notes:
                lines.append(f"       {at.note}")
                notes.add(at.note)
    return "\n".join([*lines, f"{walkthrough.parameters:,}", ""])


def check_counts(architecture: Architecture, walkthrough: Walkthrough) -> None:
    """Compare each step with the parameters of its modules, by their own counts."""
    stored = {t.name: t.tied_to or t.name for t in architecture.parameters}
    sizes = {t.name: t.numel for t in architecture.parameters if t.tied_to is None}
    modules = {node.path: node.parameters for node in architecture.modules}
    counted: set[str] = set()
    for at in walkthrough.steps:
        below = [t.name for path in at.paths for t in architecture.tensors_below(path)]
        held = {name for name in below if name in sizes}
        if at.paths:
            assert sum(sizes[name] for name in held - counted) == at.count.parameters, at
        if not held & counted:
            assert sum(modules[path] for path in at.paths) in (0, at.count.parameters), at
        counted |= held | {stored[name] for name in at.reads if name in stored}
        assert sum(each.count.parameters for each in at.inner) in (0, at.count.parameters), at
        if at.count.numbers:  # Python does the sum, without thousands separators
            assert eval(at.count.numbers.replace(",", "")) == at.count.parameters, at
    assert walkthrough.reconciles
    assert walkthrough.parameters == walkthrough.expected == architecture.root.parameters
    assert walkthrough.trainable == architecture.root.trainable
    is_executed = walkthrough.sections[0].is_executed
    for part in walkthrough.sections:
        assert part.is_executed == is_executed
        if is_executed:
            assert {at.is_layers for at in part.steps} == {part.kind == "others"}, part.title
    paths = {node.path for node in architecture.modules}
    assert {at.path for at in walkthrough.steps if at.path is not None} <= paths
    for node in architecture.modules[1:]:
        if node.parameters:
            assert find_step(walkthrough.steps, architecture, node.path), node.path


@pytest.mark.parametrize("name", CASES)
def test_steps_shapes_and_counts(name: str, golden: Callable[[str, str], None]) -> None:
    family, task, changes = CASES[name]
    architecture = small(family, task, **changes)
    walkthrough = build_walkthrough(architecture)
    check_counts(architecture, walkthrough)
    if name not in ALIKE:
        golden(f"walkthroughs/{name}.txt", as_text(walkthrough))


def test_bert_with_and_without_symbols(golden: Callable[[str, str], None]) -> None:
    for architecture in (flowing("bert-large-chinese"), derived("bert-base-chinese", "masked-lm")):
        walkthrough = build_walkthrough(architecture)
        check_counts(architecture, walkthrough)
        golden(f"walkthroughs/{architecture.source.name}.txt", as_text(walkthrough))


def inner_text(walkthrough: Walkthrough) -> Iterator[str]:
    """Yield the steps inside each step, with shapes and counts."""
    for at in walkthrough.steps:
        yield from [f"{at.number}. {at.name}"] if at.inner else ()
        for each in at.inner:
            shapes = [
                shape.text if shape else "-" for shape in (each.input_shape, each.output_shape)
            ]
            count = f" = {each.count.numbers}" if each.count.numbers else ""
            yield f"  {each.name}: {' -> '.join(shapes)}{count}"


INNER = {
    "bert": {},
    "gpt2": {},
    "t5": {"num_layers": 1, "num_decoder_layers": 1},
    "transformer-base": {},
    "mixtral": {},
    "qwen3": {},
    "deberta": {},
    "deberta-v2": {},
    "roformer": {},
    "xlnet": {},
    "vit": {},
    "gptj": {},
    "opt": {},
    "mamba": {},
}


def test_steps_inside_attentions_and_feed_forward_networks(
    golden: Callable[[str, str], None],
) -> None:
    """Attentions are fused, written out, with shared, biased, rotated, scaled or no projections."""
    lines: list[str] = []
    for family, changes in INNER.items():
        walkthrough = build_walkthrough(small(family, num_hidden_layers=1, **changes))
        lines += [family, *inner_text(walkthrough)]
        assert all(
            not each.number and not each.inner for at in walkthrough.steps for each in at.inner
        )
    golden("walkthroughs/inner.txt", "\n".join([*lines, ""]))


def test_the_steps_inside_an_attention_have_symbols() -> None:
    attention = step(build_walkthrough(derived("bert-base-uncased")), "Multi-head self-attention")
    found = {each.name: each for each in attention.inner}
    query, scores = found["Query projection"], found["Scores Q·Kᵀ / √64"]
    assert query.count.symbols == "D*D+D"
    assert query.paths == ("encoder.layer.0.attention.self.query",)
    assert scores.input_shape == StepShape("[B, A, S, D//A]", "[1, 12, 128, 64]")
    assert scores.output_shape == StepShape("[B, A, S, S]", "[1, 12, 128, 128]")


def test_a_scale_by_the_root_of_the_width_in_symbols() -> None:
    architecture = small("transformer-base")
    flows = architecture.flows
    assert flows is not None
    root = flows.distinct[""]
    nodes = tuple(replace(node, symbolic_shape=("B", "S", "D")) for node in root.nodes)
    distinct = {**flows.distinct, "": replace(root, nodes=nodes)}
    architecture = replace(architecture, flows=replace(flows, distinct=distinct))
    scale = step(build_walkthrough(architecture), "Scale by √D")
    assert scale.note == "Each vector is multiplied by √D = √24 ≈ 4.89898."
    assert scale.count.parameters == 0


def test_token_ids_segments_and_lengths_of_a_run(demo_source: ModelSource) -> None:
    model = open_model(demo_source)
    run = run_sentence(model, Sentence("a test", "the cat"))
    architecture = model.with_flows()
    walkthrough = build_walkthrough(architecture, run)
    tokens, segments = walkthrough.steps[:2]
    assert tokens.values == "101 1037 3231 102 1996 4937 102"
    assert segments.values == "0 0 0 0 1 1 1"
    attention = step(walkthrough, "Multi-head self-attention").output_shape
    assert attention is not None
    assert attention.numbers == "[1, 7, 384]"
    longer = build_walkthrough(architecture, replace(run, tokens=run.tokens * 3))
    assert longer.steps[0].values == "101 1037 3231 102 1996 4937 102 101 … 102"


CALLED = [
    *("bert", "electra", "albert", "distilbert", "mpnet", "deberta", "deberta-v2", "roformer"),
    *("esm", "big_bird", "squeezebert", "mobilebert", "gpt2", "gptj", "opt", "llama", "mixtral"),
    *("mamba", "xlnet", "modernbert", "bart", "mbart", "t5", "transformer-base"),
]


def calls_of(family: str) -> list[str]:
    """Run a model on CPU, and return its modules in the order of their calls."""
    model = transformers.AutoModel.from_config(config(family)).eval()
    inputs: dict[str, Any] = {"input_ids": torch.arange(3, 19)[None]}
    if model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = inputs["input_ids"]
    calls: list[str] = []
    for path, module in model.named_modules():
        module.register_forward_pre_hook(lambda *_, path=path: calls.append(path))
    with torch.no_grad():
        model(**inputs)
    return calls


@pytest.mark.parametrize("family", CALLED)
def test_steps_are_in_the_order_of_calls(family: str) -> None:
    calls = calls_of(family)
    position, found = 0, 0
    for part in build_walkthrough(small(family)).sections:
        if part.title == TARGET:
            position = 0  # some look up the target's tokens before the source's layers
        for at in part.steps:
            is_table = at.note == step_notes.DISTANCES and at.module not in calls
            if at.module is None or at.note == build.UNUSED or is_table:
                continue
            later = (
                place
                for place in range(position, len(calls))
                if f"{calls[place]}.".startswith(f"{at.module}.")
            )
            position = next(later, -1)
            assert position >= 0, at
            found += 1
    assert found >= 4


def test_experts_without_tokens_are_counted(tmp_path: Path) -> None:
    """A model that is traced with weights calls only the experts that its tokens are routed to."""
    values = {**SMALL["t5"], "num_experts": 3, "num_sparse_encoder_layers": 1}
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "switch_transformers", **values}), encoding="utf-8")
    source = parse_source(str(path))
    architecture = with_flows(open_model(source).architecture, source, no_progress)
    experts = step(build_walkthrough(architecture), "Experts")
    assert experts.count.parameters == 3 * 2 * 24 * 40
    assert experts.count.numbers == "3*(24*40+40*24)"


@pytest.mark.parametrize("name", ["bert-base-uncased", "gpt2", "transformer-base"])
def test_without_a_graph_modules_are_in_the_order_of_the_tree(name: str) -> None:
    walkthrough = build_walkthrough(plain(name))
    check_counts(plain(name), walkthrough)
    assert not walkthrough.sections[0].is_executed
    if name == "bert-base-uncased":
        assert [(part.title, [at.name for at in part.steps]) for part in walkthrough.sections] == [
            ("Embeddings", ["embeddings"]),
            ("One layer", ["attention", "intermediate", "output"]),
            ("Other layers", ["Layers 1–11"]),
            ("After the layers", ["pooler"]),
        ]
        layer = walkthrough.sections[1]
        assert (layer.times, layer.parameters) == (12, 7_087_872)


def test_a_tied_head_without_a_graph() -> None:
    head = build_walkthrough(plain("bert-base-uncased", "masked-lm")).steps[-1]
    assert (head.path, head.count.parameters) == ("cls", 622_650)
    assert head.note.startswith("Tied to bert.embeddings.word_embeddings.weight")


def test_a_checkpoint_without_a_configuration_has_modules_by_name() -> None:
    bare = replace(plain("bert-base-uncased"), config={})
    assert build_walkthrough(bare).sections[0].title == "Modules by name"


def test_a_graph_without_the_root_is_not_used() -> None:
    architecture = flowing("bert-base-uncased")
    assert architecture.flows is not None
    distinct = {path: flow for path, flow in architecture.flows.distinct.items() if path}
    stopped = replace(architecture, flows=replace(architecture.flows, distinct=distinct))
    walkthrough = build_walkthrough(stopped)
    assert walkthrough.reconciles
    assert not walkthrough.sections[0].is_executed


def test_an_unknown_tensor_of_a_layer_is_counted() -> None:
    architecture = flowing("bert-base-uncased")
    extra = replace(architecture.parameters[0], name="encoder.layer.0.extra", shape=(7,))
    path = "encoder.layer.0"
    modules = tuple(
        replace(
            node,
            parameters=node.parameters + 7 * (node.path in ("", "encoder", "encoder.layer", path)),
            own_parameters=node.own_parameters + 7 * (node.path == path),
        )
        for node in architecture.modules
    )
    parameters = (*architecture.parameters, extra)
    walkthrough = build_walkthrough(replace(architecture, modules=modules, parameters=parameters))
    assert walkthrough.parameters == architecture.root.parameters + 7
    assert walkthrough.reconciles
    assert any(s.path == path and s.count.parameters == 7 for s in walkthrough.steps)


def test_a_missing_step_does_not_reconcile() -> None:
    walkthrough = build_walkthrough(flowing("bert-base-uncased"))
    part = walkthrough.sections[0]
    short = replace(part, steps=part.steps[:3])
    assert not short.reconciles
    assert not replace(walkthrough, sections=(short, *walkthrough.sections[1:])).reconciles


@pytest.mark.parametrize(
    ("family", "path", "name"),
    [
        ("bert", "encoder.layer.0.attention.self", "Multi-head self-attention"),
        ("bert", "encoder.layer.0.attention.self.query", "Multi-head self-attention"),
        ("bert", "encoder.layer.0.attention.output.dense", "Multi-head self-attention"),
        ("bert", "encoder.layer.0.attention.output.LayerNorm", "Norm"),
        ("bert", "encoder.layer.0.output.dense", "Feed-forward network"),
        ("bert", "encoder.layer.1.output.dense", "Layer 1"),
        ("bert", "encoder", "Multi-head self-attention"),
        ("bert", "pooler.dense", "Pooler"),
        ("gpt2", "h.0.attn.c_attn", "Multi-head self-attention"),
        ("t5", "decoder.block.0.layer.1.EncDecAttention.k", "Multi-head cross-attention"),
        ("bart", "encoder.layers.0.fc2", "Feed-forward network"),
        ("bart", "shared", "Token embedding"),
        ("albert", "encoder.albert_layer_groups.0", "Multi-head self-attention"),
        ("mixtral", "layers.0.mlp.experts", "Experts"),
    ],
)
def test_the_step_of_a_module(family: str, path: str, name: str) -> None:
    architecture = small(family)
    found = find_step(build_walkthrough(architecture).steps, architecture, path)
    assert found is not None
    assert found.name == name


def test_the_step_of_a_module_without_a_graph() -> None:
    architecture = plain("bert-base-uncased")
    steps = build_walkthrough(architecture).steps
    found = find_step(steps, architecture, "encoder.layer.0.attention.self.query")
    assert found is not None
    assert found.path == "encoder.layer.0.attention"
    assert find_step(steps, architecture, "") is None


def test_the_innermost_step_around_a_module() -> None:
    steps = [
        Step("outer", module="encoder.layer.0"),
        Step("inner", module="encoder.layer.0.output"),
    ]
    found = find_step(steps, plain("bert-base-uncased"), "encoder.layer.0.output.dense")
    assert found == steps[1]
