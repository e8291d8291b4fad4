"""What a test may leave behind: threads, windows, and timers that run."""

import gc
import sys
import threading
from typing import Any

from bertviewer.core.util import helper_process


def new(things: list[Any], before: list[Any]) -> list[Any]:
    known = set(map(id, before))
    return [thing for thing in things if id(thing) not in known]


def threads() -> list[Any]:
    # Python never forgets a thread that something else started; those of Qt are looked at below.
    # Helper processes are all tests'.
    return [
        thread
        for thread in threading.enumerate()
        if not isinstance(thread, threading._DummyThread) and thread.name != helper_process.THREAD
    ]


def qt_application() -> Any:
    # Asks only what is imported already: a test without Qt stays without it.
    widgets = sys.modules.get("PySide6.QtWidgets")
    return None if widgets is None else widgets.QApplication.instance()


def qt_things() -> list[Any]:
    """Return the windows, the active timers and the running threads of Qt."""
    application = qt_application()
    if application is None:
        return []
    from PySide6.QtCore import QThread, QTimer
    from shiboken6 import isValid

    timers, threads = _family(QTimer), _family(QThread)
    found = [widget for widget in application.topLevelWidgets() if widget.parent() is None]
    for thing in gc.get_objects():
        kind = type(thing)
        if (
            (kind in timers and isValid(thing) and thing.isActive())
            or (kind in threads and isValid(thing) and thing.isRunning())
        ) and thing is not application.thread():
            found.append(thing)
    return found


def _family(kind: type) -> set[type]:
    """Return a class and all classes below it; cheaper to ask than isinstance() a million times."""
    family = {kind}
    below: list[type] = kind.__subclasses__()
    for sub in below:
        family |= _family(sub)
    return family


def let_things_end() -> None:
    gc.collect()
    application = qt_application()
    if application is not None:
        from PySide6.QtCore import QEvent

        # Outside of an event loop nobody else carries out deleteLater().
        application.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        application.processEvents()
