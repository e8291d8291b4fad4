"""Operations that belong together, recognised by what they compute and never by a class's name."""
