"""Which of a checkpoint's missing tensors a result came through."""

from bertviewer.core.activations.activation_run import ActivationRun


def random_tensors(run: ActivationRun, *unused: str) -> tuple[str, ...]:
    """Return the tensors that the checkpoint lacks, so that they were drawn at random.

    Those in modules with an ``unused`` name are left out. Where all weights are random, as
    ``run.source.weights`` says, none are named.
    """
    return tuple(
        name for name in run.source.random_tensors if not set(unused) & set(name.split("."))
    )
