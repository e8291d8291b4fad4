"""Questions that learners ask about a model or a run, with answers and sources.

Start with ``explanation``; ``attention``, ``layers``, ``tokens``, ``vectors`` and ``counts`` have
the questions, ``answers`` chooses those that apply, ``bibliography`` has the sources.
"""
