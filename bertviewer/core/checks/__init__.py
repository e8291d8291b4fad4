"""Checks of a run: each operation is recomputed in float64 by a reference instance, and compared.

Start with ``check.check_run``. ``reference_pass`` runs the reference instance in ``float64_mode``,
``comparison`` decides what rounding may cause, and ``layer_steps`` names the steps of a layer.
"""
