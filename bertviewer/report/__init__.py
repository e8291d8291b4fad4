"""Reports: chapters of blocks, built from a model and its runs, and written in five formats.

Start with ``builder.py``: it takes ``ReportInputs`` and ``Options``, and uses ``analysis.py``,
``draft.py`` with the chapters, ``drawing.py`` and ``formats/``. ``*_text.py`` are for terminals.
"""
