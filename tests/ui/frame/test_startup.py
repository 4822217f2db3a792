"""What the app may import before its first map."""

import subprocess
import sys

CODE = """
import sys
from ui.attention import page  # what pages/attention.py imports, and app.py
from ui.frame import shell, controls, loading, remarks
loading.load_model("minilm").trace("The cat sat.")
print([name for name in ("transformers", "huggingface_hub", "sentence_transformers") if name in sys.modules])
"""


def test_the_first_map_waits_for_no_heavy_library():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
