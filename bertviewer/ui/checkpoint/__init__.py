"""What the window shows of a checkpoint: banners, the load report, and consent to pickles.

Start with ``banner``; ``load_report`` has the facts for the inspector and the dialog of all names.
"""
