"""Modules that tests and commands share: small models, other processes, reference images."""
