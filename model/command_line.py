"""What the command lines have in common: exit codes, errors as one line, Ctrl-C at any moment, a closed or full output.

Imported first of all, so that Ctrl-C is quiet while torch is still being imported.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence

from model.errors import HeadworkError

EXIT_OK, EXIT_INPUT, EXIT_MODEL, EXIT_OUTPUT = 0, 2, 3, 4
EXIT_STOPPED = 128 + signal.SIGINT  # as a shell reports Ctrl-C
EXIT_CLOSED = 141  # 128 + SIGPIPE, as a shell reports a program whose reader has gone: `… | head -1`
MOST_SEED = 2**31 - 1

Main = Callable[[Sequence[str] | None], int]


def command(main: Main) -> Callable[..., int]:
    """The command line `main`, whose exit code also says what stopped it; a person sees one sentence, no traceback.

    `main` takes the arguments (None = those of the process) and returns an exit code. What it raises becomes one:
    a ValueError with a sentence (HeadworkError) EXIT_INPUT, an OSError EXIT_OUTPUT, Ctrl-C EXIT_STOPPED.
    """

    @functools.wraps(main)
    def run(arguments: Sequence[str] | None = None) -> int:
        if signal.getsignal(signal.SIGINT) is _stop:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:  # closed by the shell: `>&-`
                setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        for each in sys.argv[1:] if arguments is None else arguments:
            if each.startswith("--") and each.endswith("=--"):  # argparse would drop the value
                return fail(f"{each} gives no value: write one after the =.", EXIT_INPUT)
        if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal that can't show 猫 gets an escape
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            try:
                return main(arguments)
            finally:
                sys.stdout.flush()  # at exit it would be too late for a sentence
        except HeadworkError as error:
            return fail(error, EXIT_INPUT)
        except KeyboardInterrupt:
            return fail("stopped.", EXIT_STOPPED)
        except BrokenPipeError:
            _discard_output()
            return EXIT_CLOSED
        except OSError as error:
            if error.filename is None:
                _discard_output()
            return fail(f"{error.filename or 'The output'} can't be written: {error.strerror or error}.", EXIT_OUTPUT)

    return run


def fail(message: object, code: int) -> int:
    """Prints one line to standard error. Returns `code`."""
    with contextlib.suppress(OSError):  # a closed or full standard error
        print(f"error: {message}", file=sys.stderr, flush=True)
    return code


def whole_number(least: int, most: int) -> Callable[[str], int]:
    """A `type` for argparse: whole numbers from `least` to `most`, everything else refused with both."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{text[:40]} is no whole number from {least} to {most}")
        return number

    return read


def _discard_output() -> None:
    """What is still to be printed goes nowhere: Python would try again at exit, and fail."""
    with contextlib.suppress(OSError, ValueError):  # no file behind it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _stop(*_signal: object) -> None:
    os.write(2, b"error: stopped.\n")
    os._exit(EXIT_STOPPED)


# `python -m model…`: while Python looks for the module it imports the packages around it, and torch with them.
if sys.argv[:1] == ["-m"] and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _stop)
