"""The composition root: reads the settings, picks the adapters, builds the rooms from the ground up.

`Services.open` makes everything a process needs; `create_app` puts the HTTP door in front of it.
"""

from app.main.http import create_app, serve_app
from app.main.services import Services

__all__ = ["Services", "create_app", "serve_app"]
