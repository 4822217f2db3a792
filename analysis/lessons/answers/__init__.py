"""The functions that compute answers, a file a topic. Importing this registers them all."""

import importlib
import pkgutil

for _topic in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_topic.name}")
