"""Steps of the gallery with jobs that are running or fail."""

import resource
import time

from bertviewer.core.util.progress import Progress
from tests.screenshots.chapter import Step
from tests.screenshots.guide import Guide


def going_on(step: Step) -> Step:
    """Start something that lasts longer than the picture."""

    def begin(guide: Guide) -> None:
        guide.is_held = True
        step(guide)
        guide.ends.append(guide.worker.cancel)

    return begin


def held(step: Step, done: int, total: int, label: str) -> Step:
    """Start something, and show this progress until the picture is taken."""

    def wait(progress: Progress) -> None:
        while True:  # until it is cancelled
            progress(done, total, label)
            time.sleep(0.02)

    def begin(guide: Guide) -> None:
        guide.worker.before_next = wait
        going_on(step)(guide)

    return begin


def failing(step: Step, error: Exception) -> Step:
    """Start something that fails."""

    def fail(_: Progress) -> None:
        raise error

    def begin(guide: Guide) -> None:
        guide.worker.before_next = fail
        step(guide)

    return begin


def on_a_full_disk(step: Step) -> Step:
    """Do something while no file can be longer than 4 KB."""

    def begin(guide: Guide) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
        step(guide)
        guide.rest()
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return begin
