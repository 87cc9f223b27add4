"""Errors that a user's input or components can cause, and how they quote that input."""

QUOTED = 200  # most characters of a bad value that a message shows
_MESSAGE = 1000  # most characters of a message


class BadInput(ValueError):
    """Input that cannot be used: one line naming the field, its value and what is legal."""

    def __init__(self, message: str) -> None:
        super().__init__(shorten(" ".join(message.splitlines()), _MESSAGE))


class ComponentError(BadInput):
    """A component raised an error of its own, which is the cause of this one."""


def quote(value: object, most: int = QUOTED) -> str:
    """A value as Python writes it, in one line, shortened in the middle; whatever the value is.

    >>> quote("lots"), quote("x" * 1000, most=9), quote(10**5000)
    ("'lots'", "'xxx…xxx'", 'a value of type int that is too long to be shown')
    """
    try:
        return shorten(" ".join(repr(value).splitlines()), most)
    except (ValueError, RecursionError):  # of more digits than Python writes, or nested too deeply
        return f"a value of type {type(value).__name__} that is too long to be shown"


def reason(error: BaseException, most: int = QUOTED) -> str:
    """What another library says is wrong, in one line; the kind of error where it says nothing.

    >>> reason(KeyError()), reason(OSError("no\\nroom"))
    ('KeyError', 'no room')
    """
    return shorten(" ".join(str(error).split()), most) or type(error).__name__


def shorten(text: str, most: int = QUOTED) -> str:
    """The text, or its beginning and end.

    >>> shorten("abcdefgh", 5)
    'ab…gh'
    """
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"
