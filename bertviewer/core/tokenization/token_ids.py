"""A text as its tokens' ids, for many texts at once: without names, words and places."""

from msgspec import Struct

from bertviewer.core.util.errors import UserError


class TokenIds(Struct, frozen=True):
    """The tokens of a text.

    Attributes:
        ids: of each token.
        segments: as the tokenizer gives them.
        are_special: which ones stand for no text.
        are_added: which ones the tokenizer put around the text; others may be special and typed.
    """

    ids: tuple[int, ...]
    segments: tuple[int, ...]
    are_special: tuple[bool, ...]
    are_added: tuple[bool, ...]

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self.ids)

    def cut(self, limit: int, *, keeps_end: bool = False) -> "TokenIds":
        """Return at most so many tokens: the last ones of the text are left out, or the first.

        Raises:
            UserError: there is no room for one of them beside what stands around the text.
        """
        excess = len(self.ids) - limit
        if excess <= 0:
            return self
        content = [place for place, is_added in enumerate(self.are_added) if not is_added]
        if excess >= len(content):
            raise UserError(f"{limit:,} tokens leave no room for the sentence")
        left_out = set(content[:excess] if keeps_end else content[-excess:])
        kept = [place for place in range(len(self.ids)) if place not in left_out]
        return TokenIds(
            tuple(self.ids[place] for place in kept),
            tuple(self.segments[place] for place in kept),
            tuple(self.are_special[place] for place in kept),
            tuple(self.are_added[place] for place in kept),
        )


Read = TokenIds | str
"""The tokens of a text, or why the tokenizer cannot read it."""
