"""The chapters of a report: functions that read a ``Subject`` and return a ``ChapterDraft``.

``report/catalogue.py`` lists them in order. ``sentence.py`` is a typical one.
"""
