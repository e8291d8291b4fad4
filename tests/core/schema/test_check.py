"""All checks that were made of a run are one."""

from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.check import Check, CheckStep, Unchecked, merge_checks
from bertviewer.core.sources.model_source import ModelSource


def step(path: str, *, ok: bool = True) -> CheckStep:
    return CheckStep(path, "output", 1e-7, 1e-6, ok)


def test_checks_of_several_modules(demo_source: ModelSource) -> None:
    pooler, layer = step("pooler"), step("encoder.layer.0", ok=False)
    inner = step("encoder.layer.0.attention.self")
    checks = {
        "pooler": Check((pooler,)),
        "encoder.layer.0": Check((layer, inner), (Unchecked("embeddings", "not called again"),)),
        "encoder.layer.0.attention.self": Check((inner,)),
        "embeddings": Check((step("embeddings"),)),
    }
    found = merge_checks(checks, open_model(demo_source).architecture)
    assert found is not None
    assert found.steps == (step("embeddings"), layer, inner, pooler)
    assert found.unchecked == ()
    assert found.failed == (layer,)


def test_what_could_not_be_checked_is_kept(demo_source: ModelSource) -> None:
    why = Unchecked("pooler", "it gave nothing")
    assert merge_checks(
        {"pooler": Check((), (why,))}, open_model(demo_source).architecture
    ) == Check((), (why,))
    assert merge_checks({}, open_model(demo_source).architecture) is None
