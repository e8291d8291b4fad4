"""State of the window, which widgets follow.

Start with ``workspace``: it has the open model, ``selection``, ``runs`` and ``run_input``, and
starts the jobs that change them.
"""
