"""Domains of real families: each says where its formulas end, and what moves with what."""

import pytest

from bertviewer.core.expressions.evaluation import all_met, evaluate, names_in
from bertviewer.core.symbolic.counts import derive
from tests.core.symbolic.small_builds import assert_never_wrong, root, size_of, values_of
from tests.core.symbolic.test_counting import builder, config_of


def test_heads_of_which_a_ratio_is_left() -> None:
    # ConvBERT: hidden_size // (heads // ratio) // 2 features a head.
    config = config_of("convbert", num_hidden_layers=2, num_groups=2, hidden_size=384)
    config |= {"num_attention_heads": 8, "head_ratio": 2}
    build = builder()
    found = derive(config, build)
    query = "encoder.layer.0.attention.self.query"
    assert found.domains[query] == (
        "D % 2 == 0 and A % head_ratio == 0 and D % (2*A//head_ratio) == 0"
    )
    assert root(found, D=72, head_ratio=1) is None
    changed = {"hidden_size": 400, "num_attention_heads": 16, "head_ratio": 4}
    assert root(found, D=400, A=16, head_ratio=4) == size_of(build, {**config, **changed})
    assert_never_wrong(config, found, build)


def test_opt_lists_the_width_that_follows_the_hidden_one() -> None:
    config = config_of("opt", num_hidden_layers=3)
    build = builder()
    found = derive(config, build)
    follower = next(s for s in found.symbols if s.key == "word_embed_proj_dim")
    assert (follower.variable, follower.value) == ("D", 768)
    assert found.domains[""] == "word_embed_proj_dim == D"
    assert root(found, D=1536) is None
    both = {**config, "hidden_size": 1536, "word_embed_proj_dim": 1536}
    assert root(found, D=1536, word_embed_proj_dim=1536) == size_of(build, both)
    assert_never_wrong(config, found, build)


def test_bamba_lists_the_numbers_that_move_in_proportion() -> None:
    config = config_of("bamba", num_hidden_layers=3)
    found = derive(config, builder())
    follows = {symbol.key: symbol.variable for symbol in found.symbols}
    assert follows["mamba_n_heads"] == "D"
    assert follows["mamba_expand"] == "mamba_d_head"
    values = values_of(found, D=8192)
    assert not all_met(found.domains[""], values)
    assert_never_wrong(config, found, builder())


def test_electra_with_equal_and_with_different_widths() -> None:
    sizes = {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2}
    for width, condition in ((16, "E != D"), (32, "E == D")):
        config = config_of("electra", embedding_size=width, **sizes)
        found = derive(config, builder())
        assert condition in found.domains[""].split(" and ")
        assert "D % A == 0" in found.domains[""].split(" and ")
        assert_never_wrong(config, found, builder())


def test_clip_counts_whole_patches() -> None:
    config = config_of("clip_vision_model", num_hidden_layers=2)
    found = derive(config, builder())
    assert found.domains[""] == "image_size % patch_size == 0"
    assert root(found, image_size=264) is None
    assert root(found, image_size=256) == size_of(builder(), {**config, "image_size": 256})
    assert_never_wrong(config, found, builder())


@pytest.mark.parametrize("model_type", ["hubert", "sew"])
def test_speech_models_find_their_depth(model_type: str) -> None:
    few = {"conv_dim": [64] * 3, "conv_stride": [5, 2, 2], "conv_kernel": [10, 3, 2]}
    config = config_of(model_type, num_hidden_layers=4, num_feat_extract_layers=3, **few)
    found = derive(config, builder())
    assert found.unproven == {}
    assert "N*(" in found.counts["encoder"]
    assert "N*(" in found.counts[""]
    deeper = {**config, "num_hidden_layers": 5}
    assert root(found, N=5) == size_of(builder(), deeper)
    assert_never_wrong(config, found, builder())


def test_swin_finds_the_depths_of_its_stages() -> None:
    config = config_of("swin", depths=[1, 2], num_heads=[2, 4], embed_dim=16, window_size=3)
    found = derive(config, builder())
    assert found.unproven == {}
    assert {symbol.name for symbol in found.symbols} >= {"depths_0", "depths_1"}
    assert root(found, depths_1=4) == size_of(builder(), {**config, "depths": [1, 4]})
    assert_never_wrong(config, found, builder())


@pytest.mark.parametrize("model_type", ["mpnet", "albert", "gpt2", "t5", "bart", "llama"])
def test_formulas_hold_for_other_configurations(model_type: str) -> None:
    config, build = config_of(model_type), builder()
    found = derive(config, build)
    assert found.unproven == {}
    assert names_in(found.counts[""])
    assert_never_wrong(config, found, build)
    doubled, more = ("D", "E", "I", "I_e"), ("V", "L", "N", "N_e", "N_d", "T")
    changed = {s.name: 2 * s.value for s in found.symbols if s.name in doubled}
    changed |= {s.name: s.value + 1 for s in found.symbols if s.name in more}
    keys = {symbol.name: symbol.key for symbol in found.symbols}
    model = build({**config, **{keys[letter]: value for letter, value in changed.items()}})
    shapes = {name: tensor.shape for name, tensor in model.named_parameters()}
    values = values_of(found, **changed)
    for name in shapes.keys() & found.shapes.keys():
        assert tuple(evaluate(size, values) for size in found.shapes[name]) == shapes[name], name
