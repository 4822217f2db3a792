"""Servers of the app that needn't import its libraries: each is a copy of a process that has them, and nothing else."""

import multiprocessing
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    ["torch", "pandas", "plotly.graph_objects", "uvicorn", "streamlit.web.bootstrap", "streamlit.web.server.starlette"]
)


def arguments(script: str, port: int) -> list[str]:
    """What follows `streamlit`."""
    address = ["--server.address", "127.0.0.1", "--server.port", str(port)]
    return ["run", script, *address, "--server.fileWatcherType", "none"]


def serve(port: int) -> None:
    """Runs the app in this process."""
    from streamlit.web import cli  # only here: whoever starts a server needn't import it

    os.chdir(ROOT)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    sys.path.insert(0, str(ROOT))
    cli.main(arguments("app.py", port))
