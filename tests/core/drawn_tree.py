"""A folded tree as text, for golden files."""

from bertviewer.core.schema.module_tree import TreeRow


def draw(row: TreeRow, depth: int | None = None) -> str:
    """Draw the folded tree, one line a row; ``depth`` levels below the root at most.

    A folded row's children are those of its first member.
    """
    lines: list[str] = []

    def add(row: TreeRow, level: int) -> None:
        shape = f"  {list(row.shape)}" if row.shape else ""
        lines.append(f"{'  ' * level}{row.label}: {row.class_label}  {row.parameters:,}{shape}")
        if depth is None or level < depth:
            for child in row.children:
                add(child, level + 1)

    add(row, 0)
    return "\n".join(lines)
