"""Download a file over HTTP, resuming where an earlier attempt stopped."""

import os
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from urllib.response import addinfourl

from airfeel.errors import BadInput, reason

Progress = Callable[[str, int, int | None], None]
"""Called with a file's name, its bytes here so far, and its size where the server tells it."""

_CHUNK = 1 << 18
_TIMEOUT = 60.0  # [s] without a byte


def download(url: str, target: Path, progress: Progress, most: int) -> None:
    """Bring `url` to `target`, which appears only when it is whole.

    Bytes gather in `target`.part; a part that is already there is continued with a Range request,
    and begun anew if the server does not honour it. No more than `most` bytes are taken.
    """

    def tell(n: int, total: int | None) -> None:
        if max(n, total or 0) > most:
            raise OSError(f"sends {max(n, total or 0)} bytes, must be at most {most}")
        progress(target.name, n, total)

    part = target.with_name(target.name + ".part")
    have = part.stat().st_size if part.exists() else 0
    try:
        usable = _receive(url, part, have, tell)
    except (OSError, HTTPException, ValueError) as error:
        raise BadInput(
            f"{url}: {reason(error)}; the same command again resumes the download"
        ) from error
    if usable:
        os.replace(part, target)
    else:
        part.unlink()
        download(url, target, progress, most)


def _receive(url: str, part: Path, have: int, progress: Callable[[int, int | None], None]) -> bool:
    """Append the rest of `url` to the `have` bytes of `part`; False if it cannot be continued."""
    headers = {"User-Agent": "airfeel"} | ({"Range": f"bytes={have}-"} if have else {})
    try:
        with urlopen(Request(url, headers=headers), timeout=_TIMEOUT) as response:
            if response.status == 206:
                if not response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
                    return False
            else:
                have = 0
            _append(response, part, have, progress)
    except HTTPError as error:
        error.close()
        # Range not satisfiable: the part is longer than the file.
        if error.code == 416 and have:
            return False
        raise
    return True


def _append(
    response: HTTPResponse | addinfourl,
    part: Path,
    have: int,
    progress: Callable[[int, int | None], None],
) -> None:
    """Write the body of `response` behind the first `have` bytes of `part`."""
    length = response.headers.get("Content-Length")
    total = have + int(length) if length else None
    progress(have, total)
    with part.open("ab" if have else "wb") as out:
        while chunk := response.read(_CHUNK):
            out.write(chunk)
            have += len(chunk)
            progress(have, total)
    if total is not None and have != total:
        raise OSError(f"connection closed after {have} of {total} bytes")
