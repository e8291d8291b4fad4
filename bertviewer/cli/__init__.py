"""The command line, without the window.

``arguments.py`` parses it, ``commands.py`` runs the commands, ``formats.py`` has their outputs.
"""
