"""The file formats of a report. ``formats.py`` lists them, ``saving.py`` writes their files.

HTML, LaTeX and Markdown are subclasses of ``writer.Writer``; the PDF is set by ``typesetting.py``.
"""
