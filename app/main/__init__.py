"""The composition root: reads the settings, picks the adapters, builds the rooms from the ground up.

`Services.open` makes everything a process needs; `create_app` puts the HTTP door in front of it. Both stand on every
room of the house and take seconds to import, so each is imported when it is first asked for: who only signs a token
with the service's secret waits for neither, and who asks in the terminal does not wait for the door.
"""

import gc
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.main.http import create_app, private_socket, serve_app
    from app.main.services import Services
    from app.settings import Settings

__all__ = ["Services", "create_app", "load_model_ahead", "private_socket", "serve_app"]
_PLACES = {"Services": "services", "create_app": "http", "private_socket": "http", "serve_app": "http"}


def load_model_ahead(settings: "Settings") -> None:
    """Begin to read the bundled model; for before `Services` is imported, which takes as long."""
    if not settings.embedding_base_url:
        embedder = import_module("app.embedding.onnx").OnnxEmbedder
        embedder.open_ahead(settings.data_dir / "models", threads=settings.embedding_threads)


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # What is imported stays: looking for garbage among it meanwhile costs a sixth of the time.
    was_on = gc.isenabled()
    gc.disable()
    try:
        return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    finally:
        if was_on:
            gc.freeze()
            gc.enable()
