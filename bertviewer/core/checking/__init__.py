"""Every formula once more as arithmetic on tensors, to compare with what the modules gave."""
