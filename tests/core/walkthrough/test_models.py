"""What is peculiar to the walk through some models."""

from bertviewer.core.walkthrough import build
from bertviewer.core.walkthrough import steps as step_notes
from bertviewer.core.walkthrough.build import build_walkthrough
from bertviewer.core.walkthrough.walkthrough import Walkthrough
from tests.core.walkthrough.expected import ATTENTION, BERT, OTHER, POST_NORM, WORDS
from tests.core.walkthrough.small_walkthroughs import flowing, names, small, step
from tests.core.walkthrough.test_steps import SEVENTEEN


class TestFamilies:
    def test_roberta_has_the_seventeen(self) -> None:
        walk = build_walkthrough(flowing("roberta-base"))
        assert names(walk)[:8] == [name for name, _, _ in SEVENTEEN[:8]]
        assert step(walk, "Position embedding").count.numbers == "514*768"
        assert step(walk, "Segment IDs").note == build.ONE_SEGMENT

    def test_gpt2_projects_three_at_once(self) -> None:
        attention = step(build_walkthrough(flowing("gpt2")), ATTENTION)
        assert attention.count.numbers == "(768*2304+2304)+(768*768+768)"

    def test_albert_stores_one_layer(self) -> None:
        walk = build_walkthrough(flowing("albert-base-v2"))
        again = step(walk, "The same layer, 11 more times")
        assert again.count.parameters == 0
        assert "applied 12 times" in again.note
        projection = step(walk, "Embedding projection")
        assert projection.count.numbers == "128*768+768"
        assert projection.output_shape is not None
        assert projection.output_shape.text == "[B, S, 768]"
        assert step(walk, "Pooler").count.parameters == 590_592

    def test_electra_widens_its_embeddings(self) -> None:
        walk = build_walkthrough(small("electra"))
        projection = step(walk, "Embedding projection")
        assert projection.count.numbers == "16*24+24"
        assert projection.input_shape is not None
        assert projection.input_shape.text == "[B, S, 16]"

    def test_the_transformer_walks_twice(self) -> None:
        walk = build_walkthrough(flowing("transformer-base"))
        assert [part.title for part in walk.sections] == [
            "Embeddings",
            "One encoder layer",
            "Other encoder layers",
            "After the encoder layers",
            "Target embeddings",
            "One decoder layer",
            "Other decoder layers",
            "After the decoder layers",
        ]
        tables = [s for s in walk.steps if s.name == "Token embedding"]
        assert [s.count.parameters for s in tables] == [18_944_000, 0]
        assert step(walk, "Add").note == step_notes.SINUSOIDS
        names = [[s.name for s in part.steps] for part in walk.sections[2:4]]
        assert names == [["Layers 1–5"], ["Norm"]]

    def test_a_tied_head_counts_nothing(self) -> None:
        walk = build_walkthrough(flowing("bert-base-chinese", "masked-lm"))
        head = walk.steps[-1]
        assert (head.name, head.path, head.count.parameters) == ("Head", "cls", 613_256)
        assert head.note.startswith("Tied to bert.embeddings.word_embeddings.weight")


def kinds(walk: Walkthrough) -> list[tuple[str, int, str | None]]:
    return [
        (part.title, part.times, part.steps[0].path)
        for part in walk.sections
        if part.kind == "layer"
    ]


def test_local_and_global_layers_are_kinds_of_their_own() -> None:
    """Every third layer of ModernBERT looks at the whole text; the first has no norm before it."""
    walk = build_walkthrough(small("modernbert", num_hidden_layers=7))
    assert walk.reconciles
    assert kinds(walk) == [
        ("Layer 0", 1, "layers.0.attn"),
        ("Layer 1", 4, "layers.1.attn_norm"),
        ("Layer 3", 2, "layers.3.attn_norm"),
    ]
    others = [s for s in walk.steps if s.is_layers]
    assert [(s.name, s.path) for s in others] == [
        ("3 other layers, like layer 1", "layers.2"),
        ("Layer 6, like layer 3", "layers.6"),
    ]


def test_layers_that_are_stored_in_groups() -> None:
    walk = build_walkthrough(
        small("albert", num_hidden_layers=4, num_hidden_groups=2, inner_group_num=2)
    )
    assert walk.reconciles
    others = [at.name for at in walk.sections[2].steps]
    assert others == [OTHER, "The same 2 layers, once more"]
    assert [at.name for at in walk.sections[3].steps] == ["Pooler"]
    assert names(walk).count(ATTENTION) == 2


def test_a_layer_that_is_alone_is_a_layer() -> None:
    walk = build_walkthrough(small("bert", num_hidden_layers=1))
    assert walk.reconciles
    assert [[at.name for at in part.steps] for part in walk.sections] == [
        BERT,
        POST_NORM,
        ["Pooler"],
    ]


def test_a_decoder_attends_to_an_encoder_that_is_not_its_own() -> None:
    walk = build_walkthrough(small("bert", is_decoder=True, add_cross_attention=True))
    layer = [step.name for step in walk.sections[1].steps]
    assert layer.index("Masked self-attention") < layer.index("Multi-head cross-attention")
    cross = next(s for s in walk.sections[1].steps if s.name == "Multi-head cross-attention")
    assert cross.count.parameters == 4 * (24 * 24 + 24)
    assert walk.reconciles


def test_what_no_pass_uses_is_counted_and_said() -> None:
    walk = build_walkthrough(small("esm"))
    unused = [step for step in walk.steps if step.note == build.UNUSED]
    assert [step.path for step in unused] == ["contact_head"]
    assert unused[0].count.parameters > 0
    assert walk.reconciles


def test_a_narrow_layer_is_walked_through_whole() -> None:
    """MobileBERT goes through a bottleneck, and several feed-forward networks in each layer."""
    layer = build_walkthrough(small("mobilebert")).sections[1]
    assert [at.name for at in layer.steps if at.path is not None] == [
        *("Linear", "Scale and shift", "Linear", "Scale and shift", ATTENTION, "Scale and shift"),
        *("Feed-forward network", "Scale and shift", "Feed-forward network", "Scale and shift"),
        *("Linear", "Dropout", "Scale and shift"),
    ]


def test_features_may_stand_before_places() -> None:
    attention = step(build_walkthrough(small("squeezebert")), ATTENTION)
    assert attention.input_shape is not None
    assert attention.input_shape.text == "[B, 24, S]"


def test_images_are_no_sentences() -> None:
    shapes = [s.output_shape for s in build_walkthrough(small("vit")).steps]
    assert all(shape is None or "S" not in shape.text for shape in shapes)


def test_a_table_of_distances_is_not_looked_up_by_tokens() -> None:
    distances = step(build_walkthrough(small("deberta")), "Distance embedding")
    assert (distances.input_shape, distances.output_shape) == (None, None)
    assert distances.count.parameters == 2 * 32 * 24


def test_experts_are_counted_all_and_routed() -> None:
    walk = build_walkthrough(small("mixtral"))
    router, experts = step(walk, "Router"), step(walk, "Experts")
    assert router.note == "Selects 2 of 4 experts for each token."
    assert router.count.parameters == 4 * 24
    assert experts.count.parameters == 4 * 3 * 24 * 40


def test_a_text_beside_a_picture_has_embeddings_of_its_own() -> None:
    walk = build_walkthrough(small("clip"))
    assert walk.reconciles
    assert [part.kind for part in walk.sections] == ["embeddings", "layer", "others", "rest"] * 2
    assert [at.name for at in walk.sections[4].steps] == [*WORDS, "Position embedding", "Add"]
