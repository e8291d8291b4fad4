"""Start of the window, and the end of its process.

``application.run_window`` opens it; ``display`` checks that a window can open, and ``crash_log``
keeps the trace of a crash.
"""
