"""The page that the window begins with."""
