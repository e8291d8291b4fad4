"""Pictures of the window: the README's, and a gallery of every state that it can be in."""
