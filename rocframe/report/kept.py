"""Text that takes seconds to make → a file in the user's cache, and back.

A file says what its text has to be: one that is cut off or changed is made anew. Where nothing can
be written, nothing is kept.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from rocframe.errors import StorageError
from rocframe.files import replaced

if TYPE_CHECKING:
    from collections.abc import Callable


def folder() -> Path | None:
    """Return where files of ours are kept, if this user has such a place."""
    named = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME", "")
    if Path(named).is_absolute():
        return Path(named, "rocframe")
    try:
        return Path.home() / ".cache" / "rocframe"
    except RuntimeError:
        return None


def kept(name: str, make: Callable[[], str]) -> str:
    """Return the text of that name: as it was made before, or made now."""
    place = folder()
    if place is None:
        return make()
    path = place / name
    with suppress(OSError, UnicodeDecodeError):
        sign, _, text = path.read_bytes().decode().partition("\n")
        if sign == _signed(text):
            return text
    text = make()
    with suppress(OSError, StorageError):
        place.mkdir(parents=True, exist_ok=True)
        with replaced(path) as new:
            new.write_bytes(f"{_signed(text)}\n{text}".encode())
    return text


def _signed(text: str) -> str:
    return sha256(text.encode()).hexdigest()
