"""Models on the Hugging Face Hub: the only code that uses the network, and only for ``hf://``.

Start with ``opening``. ``transfers`` sends requests through a helper process, in which ``worker``
runs; ``cache`` has the files on this disk.
"""
