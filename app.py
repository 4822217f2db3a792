"""Headwork: see how the attention heads of a Transformer split their work. Start it with `streamlit run app.py`."""

from ui.frame.shell import run_app

run_app()
