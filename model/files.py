"""Reading files that somebody else made; writing one so that it is whole at any moment; JSON by lines."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import uuid
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from model.errors import HeadworkError, first_line

MOST_JSON_BYTES = 10_000_000  # the index of a model of 4 GB in shards has some 100 KB


def check_ordinary(folder: Path) -> None:
    """Raises HeadworkError where a folder holds a pipe, a device or the like: whoever opens one may wait forever."""
    for path in folder.iterdir():
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise HeadworkError(
                "{file} in the folder {folder} is not a regular file. Remove it, or choose another folder.",
                file=path.name,
                folder=folder.name,
            )


def read_json(path: Path) -> Any:
    """What a JSON file says.

    Raises:
        HeadworkError: it is not a regular file, too large, no JSON, or nested too deeply.
    """
    try:
        if not path.is_file():
            raise OSError("it is not a regular file")
        if (size := path.stat().st_size) > MOST_JSON_BYTES:
            raise OSError(f"it has {size / 1e6:.0f} MB")
        with path.open("rb") as stream:
            return json.loads(stream.read(size))
    except (OSError, ValueError, RecursionError) as error:  # ValueError: no UTF-8, no JSON, numbers of 5,000 digits
        raise HeadworkError("{file} can't be read: {reason}.", file=path.name, reason=first_line(error)) from error


def sha256_of(path: Path) -> str:
    """The hash of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_whole(path: Path, content: str | bytes) -> None:
    r"""Writes a file, text as UTF-8; until it is all on the disk, what was there before stays.

    Bytes of a file name that are no UTF-8 come as lone surrogates: they are escaped, in JSON as JSON has it (\udcff).

    Raises:
        OSError: the file can't be written; `filename` says which. Nothing is left beside it.
    """
    content = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    beside = _beside(path)
    try:
        with beside.open("wb") as stream:
            stream.write(content)
            stream.flush()
            if beside != path:
                os.fsync(stream.fileno())  # or a power cut after the move leaves an empty file
        if beside != path:
            os.replace(beside, path)
    except BaseException as error:  # a full disk, Ctrl-C
        if beside != path:
            beside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)
        raise


def check_writable(path: Path) -> None:
    """Tries whether `write_whole` could write; what is there stays as it is, and nothing new is left.

    Raises:
        OSError: it couldn't: a folder stands there or is missing, the device takes nothing.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if path.is_fifo():
        return  # whoever reads it would take the try for the end
    beside = _beside(path)
    try:
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        with beside.open("ab") as stream:
            if stat.S_ISCHR(os.fstat(stream.fileno()).st_mode) and not stream.isatty():
                stream.write(b"\n")  # /dev/full says so only now; before JSON an empty line means nothing
        if beside != path:
            beside.unlink()
    except OSError as error:
        error.filename = str(path)
        raise


def json_by_lines(value: Mapping[str, Any], lists: Collection[str], *, dense: bool = False) -> str:
    """JSON text of an object; each entry of those of its values that `lists` names has a line of its own.

    So it can be compared line by line. `dense` leaves out the spaces.
    """
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":") if dense else None).encode
    colon = ":" if dense else ": "
    parts = [
        f"{encode(key)}{colon}" + ("[\n" + ",\n".join(map(encode, each)) + "\n]" if key in lists else encode(each))
        for key, each in value.items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _beside(path: Path) -> Path:
    """Where a file is written first; the place itself where nothing may take it: a link, a device, a pipe."""
    fixed = path.is_symlink() or (path.exists() and not path.is_file())
    return path if fixed else path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}.part")  # two may write at once
