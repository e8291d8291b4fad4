"""Runs over corpora of many sentences.

Start with ``controller``: it opens the ``dialog`` that runs a corpus, and the ``window`` with the
statistics of one.
"""
