"""`files_tool`: questions to the files attached to them."""

from app.tools.files.computing import Runner
from app.tools.files.reading import FileReader
from app.tools.files.tool import FilesTool

__all__ = ["FileReader", "FilesTool", "Runner"]
