"""All checks that were made of a run are one."""

from bertviewer.core.activations.check_step import Check, CheckStep, Unchecked
from bertviewer.core.activations.united_checks import united
from bertviewer.core.loading.loaded_model import LoadedModel


def step(path: str, *, ok: bool = True) -> CheckStep:
    return CheckStep(path, "output", 1e-7, 1e-6, ok)


def test_checks_of_several_modules(opened_demo: LoadedModel) -> None:
    pooler, layer = step("pooler"), step("encoder.layer.0", ok=False)
    inner = step("encoder.layer.0.attention.self")
    checks = {
        "pooler": Check((pooler,)),
        "encoder.layer.0": Check((layer, inner), (Unchecked("embeddings", "not called again"),)),
        "encoder.layer.0.attention.self": Check((inner,)),
        "embeddings": Check((step("embeddings"),)),
    }
    found = united(checks, opened_demo.architecture)
    assert found is not None
    assert found.steps == (step("embeddings"), layer, inner, pooler)
    assert found.unchecked == ()
    assert found.crosses == (layer,)


def test_what_could_not_be_checked_is_kept(opened_demo: LoadedModel) -> None:
    why = Unchecked("pooler", "it gave nothing")
    assert united({"pooler": Check((), (why,))}, opened_demo.architecture) == Check((), (why,))
    assert united({}, opened_demo.architecture) is None
