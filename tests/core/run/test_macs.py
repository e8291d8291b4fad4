"""A run's multiply-adds, against torch's counter of the products really done."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from bertviewer.core.building import build_config, build_random
from bertviewer.core.errors import UserError
from bertviewer.core.flow.products import is_product, product_dimensions
from bertviewer.core.loaded_model import LoadedModel
from bertviewer.core.loading import open_model
from bertviewer.core.progress import no_progress
from bertviewer.core.run.activation_run import ModuleActivation, Sentence
from bertviewer.core.run.macs import Macs, ProductCounter, formula_macs, of_called
from bertviewer.core.run.recording import Recorder
from bertviewer.core.run.running import run_sentence
from bertviewer.core.source import parse_source
from bertviewer.core.tasks import find_task
from tests.core.formulas.formula_models import TINY

BERT = TINY["bert"]
MOE = {**TINY["llama"], "moe_intermediate_size": 20, "num_experts_per_tok": 2}
OTHERS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("fnet", "rembert"), BERT),
    "roformer": {**BERT, "embedding_size": 16},
    "esm": {**BERT, "pad_token_id": 0},
    "squeezebert": {**BERT, "embedding_size": 24, "num_attention_heads": 4},
    "mobilebert": {**BERT, "embedding_size": 16, "intra_bottleneck_size": 12},
    "deberta": {**BERT, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    "convbert": {**BERT, "embedding_size": 16, "num_attention_heads": 4},
    "longformer": {**BERT, "attention_window": 4},
    "xlnet": {"vocab_size": 97, "d_model": 24, "n_layer": 2, "n_head": 3, "d_inner": 40},
    "funnel": {
        **{"architectures": ["FunnelModel"], "block_sizes": [1, 1], "num_decoder_layers": 1},
        **{"vocab_size": 97, "d_model": 24, "n_head": 3, "d_head": 8, "d_inner": 40},
    },
    "mixtral": {**TINY["llama"], "num_local_experts": 4},
    "qwen3_moe": {**MOE, "num_experts": 4, "head_dim": 8},
}
FAMILIES = TINY | OTHERS
HEADS = (
    ("bert", "masked-lm"),
    ("bert", "sequence-classification"),
    ("bert", "question-answering"),
    ("albert", "masked-lm"),
    ("distilbert", "sequence-classification"),
    ("llama", "sequence-classification"),
)
IDS = torch.tensor([[5, 6, 7, 8, 9, 10, 11, 12, 13]])
DECODER_IDS = IDS[:, :4]


def build(family: str, task: str = "base", **changes: Any) -> Any:
    config = build_config({"model_type": family, **FAMILIES[family], **changes}, family)
    return build_random(config, find_task(task), family)


def inputs_of(model: Any) -> dict[str, Tensor]:
    decoder = {"decoder_input_ids": DECODER_IDS} if model.config.is_encoder_decoder else {}
    return {"input_ids": IDS, **decoder}


@contextmanager
def counted_by_torch(model: nn.Module) -> Iterator[dict[str, int]]:
    """Fill a dict with the FLOPs of each module that torch saw a product in."""
    found: dict[str, int] = {}
    # Done in steps, attention is seen by torch's counter; the CPU's fused kernel hides it.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        yield found
    name = type(model).__name__
    for path, flops in counter.get_flop_counts().items():
        found[path.removeprefix(name).removeprefix(".")] = sum(flops.values())


def counted_by_run(model: nn.Module, **inputs: Tensor) -> tuple[ModuleActivation, ...]:
    recorder = Recorder(model, no_progress, counter=ProductCounter())
    with torch.no_grad(), recorder.watching():
        model(**inputs)
    return recorder.activations()


def compare(model: nn.Module, **inputs: Tensor) -> int:
    """Check every module's count, and return the model's."""
    return compare_with(model, model, inputs)


def compare_with(judge: nn.Module, model: nn.Module, inputs: Mapping[str, Tensor]) -> int:
    activations = counted_by_run(model, **inputs)
    with counted_by_torch(judge) as counted:
        judge(**inputs)
    assert counted[""] > 0
    for activation in activations:
        assert activation.macs is not None, (activation.path, activation.macs_reason)
        # SqueezeBERT calls its layers' forward(), which torch takes for no call.
        if activation.class_name != "SqueezeBertModule":
            assert 2 * activation.macs == counted.get(activation.path, 0), activation.path
    (root,) = (a.macs for a in activations if a.path == "")
    assert root is not None
    return root


@pytest.mark.parametrize(("family", "task"), [*((family, "base") for family in FAMILIES), *HEADS])
def test_torch_counts_the_same_in_every_module(family: str, task: str) -> None:
    model = build(family, task)
    judge = model
    if family in ("mixtral", "qwen3_moe"):
        # One by one, torch sees the experts' products.
        judge = build(family, task)
        judge.load_state_dict(model.state_dict())
        judge.set_experts_implementation("eager")
    compare_with(judge, model, inputs_of(model))


def test_bert_in_closed_form() -> None:
    length, width, inner, layers = IDS.shape[1], 24, 40, 2
    layer = length * (4 * width**2 + 2 * width * inner) + 2 * length**2 * width
    # The pooler reads one token.
    assert compare(build("bert"), input_ids=IDS) == layers * layer + width**2


def test_two_sentences_at_once() -> None:
    model = build("distilbert")
    assert compare(model, input_ids=IDS.repeat(2, 1)) == 2 * compare(model, input_ids=IDS)


def test_a_shared_layer_counts_at_each_call() -> None:
    length, width, inner = IDS.shape[1], 24, 40
    layer = length * (4 * width**2 + 2 * width * inner) + 2 * length**2 * width
    total = compare(build("albert", num_hidden_layers=3), input_ids=IDS)
    assert total == 3 * layer + length * 16 * width + width**2


def test_encoder_and_decoder_of_different_lengths() -> None:
    source, target, width, inner = IDS.shape[1], DECODER_IDS.shape[1], 24, 40
    total = compare(build("transformer-base"), **inputs_of(build("transformer-base")))
    forward = 2 * width * inner

    def attention(queries: int, keys: int) -> int:
        return 2 * (queries + keys) * width**2 + 2 * queries * keys * width

    encoder = attention(source, source) + source * forward
    decoder = attention(target, target) + attention(target, source) + target * forward
    assert total == 2 * encoder + 2 * decoder


def test_an_attention_that_is_exchanged_while_it_runs_counts() -> None:
    sizes = {**BERT, "max_position_embeddings": 64, "block_size": 4, "num_random_blocks": 1}
    config = build_config({"model_type": "big_bird", **sizes}, "test")
    model: Any = build_random(config, find_task("base"), "test")
    attention = model.encoder.layer[0].attention.self
    (root, *_) = counted_by_run(model, input_ids=IDS)
    assert model.encoder.layer[0].attention.self is not attention
    # It is done by now.
    with counted_by_torch(model) as counted:
        model(input_ids=IDS)
    assert root.macs is not None
    assert 2 * root.macs == counted[""]


class Rnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Linear(4, 4)
        self.recurrent = nn.LSTM(4, 4, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.recurrent(self.dense(x))[0]
        return y


def test_what_hides_its_products_has_no_count_but_a_reason_and_so_has_what_holds_it() -> None:
    found = {a.path: (a.macs, a.macs_reason) for a in counted_by_run(Rnn(), x=torch.ones(1, 7, 4))}
    hidden = "the products of aten::mkldnn_rnn_layer are not known"
    assert found == {
        "": (None, f"recurrent: {hidden}"),
        "dense": (7 * 4 * 4, ""),
        "recurrent": (None, hidden),
    }


def test_operations_that_torch_did_not_write_are_not_taken_for_nothing() -> None:
    @torch.library.custom_op("bertviewer_tests::twice", mutates_args=())
    def twice(x: Tensor) -> Tensor:
        return x @ x

    with ProductCounter() as counter:
        depth = counter.enter("")
        twice(torch.ones(3, 3))
        counter.leave(depth)
    expected = Macs(None, "the products of bertviewer_tests::twice are not known")
    assert counter.totals([""]) == {"": expected}


def test_a_call_that_ends_in_an_error_is_over() -> None:
    with ProductCounter() as counter:
        outer = counter.enter("")
        counter.enter("inner")  # and it fails, which the outer module catches
        counter.leave(outer)
        counter.enter("")
        torch.ones(2, 3) @ torch.ones(3, 4)
    assert counter.totals(["", "inner"]) == {"": Macs(24), "inner": Macs(0)}


WORDS = re.compile(
    r"mm|matmul|conv|attention|attn|lstm|gru|rnn|linear|einsum|encoder_layer|tensordot"
)
# Sums of other things, or made of operations that are seen.
NO_PRODUCTS = re.compile(
    r"cummax|cummin|gamma|hamming|upsample|convert|_compute_linear_combination|backward|weight$"
    r"|prepack|fbgemm_pack|reorder|quantize_weight|_search$|flatten|thnn_fused|gammainc|nested"
)
COMPOSED = {
    *("matmul", "linalg_matmul", "einsum", "tensordot", "conv1d", "conv2d", "conv3d"),
    *("_convolution", "_convolution_mode", "conv_transpose1d", "conv_transpose2d"),
    *("conv_transpose3d", "scaled_dot_product_attention", "_scaled_dot_product_attention_math"),
    *("lstm", "gru", "rnn_relu", "rnn_tanh", "lstm_cell", "gru_cell", "rnn_relu_cell"),
    *("rnn_tanh_cell", "thnn_conv2d", "slow_conv3d", "_slow_conv2d_forward"),
}


def test_every_operation_of_torch_that_sounds_like_a_product_is_known_or_told() -> None:
    names = {
        name.removeprefix("aten::").partition(".")[0]
        for name in torch._C._dispatch_get_all_op_names()
        if name.startswith("aten::")
    }
    unknown = []
    for name in sorted(names):
        if not WORDS.search(name) or NO_PRODUCTS.search(name) or name in COMPOSED:
            continue
        packet = getattr(torch.ops.aten, name)
        if not is_product(getattr(packet, packet.overloads()[0])):
            unknown.append(name)
    assert not unknown


def test_linear_layers_in_one_step() -> None:
    x, weight = torch.ones(2, 7, 5), torch.ones(3, 5)
    linear = torch.ops.aten.linear.default
    assert product_dimensions(linear, (x, weight), x @ weight.T) == (2, 7, 5, 3)
    assert product_dimensions(torch.ops.aten.add.Tensor, (x, x), x) is None


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    folder = tmp_path_factory.mktemp("bert")
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", **BERT}))
    model = open_model(parse_source(str(folder)))
    model.with_formulas()
    return model


def without_formulas(model: LoadedModel) -> LoadedModel:
    bare = open_model(model.source)
    bare.architecture = replace(bare.architecture, compute=None)
    return bare


def test_formulas_and_a_count_say_the_same_of_each_module(bert: LoadedModel) -> None:
    sentence = Sentence("the bank of the river")
    run = run_sentence(bert, sentence, True)
    assert formula_macs(bert.architecture, run.tokens) is not None
    counted = run_sentence(without_formulas(bert), sentence, True)
    found = {module.path: (module.macs, module.macs_reason) for module in run.modules}
    assert found == {m.path: (m.macs, m.macs_reason) for m in counted.modules}
    assert found["encoder.layer.0.attention.self.query"] == (len(run.tokens) * 24**2, "")


def test_a_formula_is_not_there_for_each_module_so_all_are_counted(bert: LoadedModel) -> None:
    architecture = bert.architecture
    compute = architecture.compute
    assert compute is not None
    one = replace(compute.modules["pooler"], macs=None)
    without = replace(compute, modules={**compute.modules, "pooler": one})
    tokens = run_sentence(bert, Sentence("a"), True).tokens
    assert formula_macs(replace(architecture, compute=without), tokens) is None
    uneven = replace(compute.modules["pooler"], macs="S//2")
    halved = replace(compute, modules={**compute.modules, "pooler": uneven})
    assert formula_macs(replace(architecture, compute=halved), tokens) is None


def test_a_module_that_no_formula_knows_leaves_nothing_above_it_a_number() -> None:
    known: Mapping[str, Macs] = {"": Macs(9), "a": Macs(4), "b": Macs(5), "a.c": Macs(1)}
    reason = "its formula was found where nothing called a.d"
    assert of_called(known, ["", "a", "a.c", "a.d", "b"]) == {
        "": Macs(None, reason),
        "a": Macs(None, reason),
        "a.c": Macs(1),
        "a.d": Macs(None, reason),
        "b": Macs(5),
    }


def test_a_failure_under_the_counter_is_the_models(bert: LoadedModel) -> None:
    bare = without_formulas(bert)
    module = bare.module(random_weights=True)
    module.get_submodule("embeddings.token_type_embeddings").weight = nn.Parameter(
        torch.ones(0, 24)
    )
    with pytest.raises(UserError, match=r"embeddings\.token_type_embeddings \(Embedding\)"):
        run_sentence(bare, Sentence("the bank"), True)
