"""What a forward pass costs: multiply-adds, shapes and memory, as derived formulas."""
