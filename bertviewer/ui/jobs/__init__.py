"""Jobs of the window.

``worker`` is a thread with a priority queue, ``job_queue`` what the user and views ask of it,
``prefetcher`` what runs when it is idle. ``model_jobs`` are the functions.
"""
