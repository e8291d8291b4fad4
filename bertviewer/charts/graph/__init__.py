"""A module's flow as a picture: laid out once, the same on the screen, on paper and as SVG."""
