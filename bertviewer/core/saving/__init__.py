"""Files that the program writes: atomic, and never over a model's own files.

Start with ``atomic_files.save``. ``model_files`` decides which files belong to a model;
``disk_cache`` has caches with least-recently-used eviction.
"""
