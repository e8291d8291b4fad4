"""The dialog that exports a report.

Start with ``dialog.py``: ``options_form.py`` has the options, ``preview.py`` requests the pages,
``pages_view.py`` shows them, and ``drawer.py`` draws figures in the GUI thread for the worker.
"""
