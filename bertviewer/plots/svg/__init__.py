"""Drawings by a painter as plain SVG, which every program reads alike: files, pages, paper."""
