"""The data flow of a module: traced from its own forward, reduced to what a person draws."""
