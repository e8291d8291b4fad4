"""Bottom of the window: the sentence bar, and the tokens and views of the current run.

Start with ``run_area``, which contains ``sentence_bar`` and, once there is a run, ``run_panel``.
The views are listed in ``views``; their base class is in ``run_view``, their jobs are in ``jobs``.
"""
