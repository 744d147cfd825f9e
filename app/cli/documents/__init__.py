"""The command line for documents: bring them in, look at them, delete them, and ask why somebody may read one."""

from app.cli.documents.access import explain_access
from app.cli.documents.catalogue import document_commands
from app.cli.documents.ingest import ingest

__all__ = ["document_commands", "explain_access", "ingest"]
