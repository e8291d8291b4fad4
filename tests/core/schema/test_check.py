"""Several checks of one run are merged."""

from bertviewer.core.schema.check import Check, CheckStep, Unchecked, merge_checks
from bertviewer.core.schema.modules import ModuleNode
from tests.core.formulas.test_catalogue import architecture, node

ATTENTION = "encoder.layer.0.attention.self"
PATHS = ("", "embeddings", "encoder.layer.0", ATTENTION, "pooler")
MODULES: list[ModuleNode] = [node(path, "Module") for path in PATHS]


def step(path: str, *, ok: bool = True) -> CheckStep:
    return CheckStep(path, "output", 1e-7, 1e-6, ok)


def merged(**checks: Check) -> Check | None:
    return merge_checks(checks, architecture(*MODULES))


def test_steps_are_in_the_order_of_the_model_and_kept_once() -> None:
    embeddings, layer, attention, pooler = (
        *(step("embeddings"), step("encoder.layer.0", ok=False), step(ATTENTION), step("pooler")),
    )
    found = merged(
        pooler=Check((pooler,)),
        layer=Check((layer, attention), (Unchecked("embeddings", "not called again"),)),
        attention=Check((attention,)),
        embeddings=Check((embeddings,)),
    )
    # The embeddings were checked by another one.
    assert found == Check((embeddings, layer, attention, pooler))
    assert found.failed == (layer,)


def test_modules_that_no_check_has_steps_of_stay_unchecked() -> None:
    unchecked = Check((), (Unchecked("pooler", "it returned nothing"),))
    assert merged(pooler=unchecked) == unchecked
    assert merged() is None
