"""How the window looks: fonts, colours, icons, and the style sheet made of them."""
