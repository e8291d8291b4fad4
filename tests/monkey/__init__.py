"""Does random but sensible things in a window, and looks whether all of it holds."""
