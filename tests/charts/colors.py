"""How well a colour is seen on another."""


def contrast(one: str, other: str) -> float:
    """Return WCAG 2.2's contrast ratio of two colours ``#rrggbb``, 1 to 21."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: str) -> float:
    parts = [byte / 255 for byte in bytes.fromhex(color[1:])]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
