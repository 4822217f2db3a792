"""What the app may import before its first map."""

import subprocess
import sys

CODE = """
import sys
from ui import shell, controls, explorer, loading, remarks  # what app.py and pages/attention.py import
loading.models.__wrapped__("minilm", "").trace("The cat sat.")
print([name for name in ("transformers", "huggingface_hub", "sentence_transformers") if name in sys.modules])
"""


def test_the_first_map_waits_for_no_heavy_library():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
