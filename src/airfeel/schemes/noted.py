"""Options that note which of them were read, so that a misspelt one does not pass unheard."""

from collections.abc import Iterator
from typing import Any

from airfeel.catalogue import Table


class Noted(dict[str, Any]):
    """A table that knows its keys that nobody has asked for yet.

    >>> options = Noted({"strength": 2, "strenght": 3})
    >>> options.get("strength", 1), sorted(options.unread)
    (2, ['strenght'])
    """

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.unread = set(table)

    def __getitem__(self, key: str) -> Any:
        self.unread.discard(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.unread.discard(key)
        return super().get(key, default)

    def pop(self, key: str, *default: Any) -> Any:
        self.unread.discard(key)
        return super().pop(key, *default)

    def __iter__(self) -> Iterator[str]:  # whoever goes through all has read all
        self.unread.clear()
        return super().__iter__()

    def items(self) -> Any:
        self.unread.clear()
        return {**self}.items()

    def values(self) -> Any:
        self.unread.clear()
        return {**self}.values()
