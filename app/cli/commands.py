"""The commands of `conclave` and where they stand. A test compares what is said of them here with their own help."""

from app.cli.later import LaterGroup, Place

PLACES = {
    "ingest": Place(
        "app.cli.documents.ingest", "ingest",
        "Bring documents in; what has not changed is skipped. The same external_id again makes a new version.",
    ),
    "explain-access": Place(
        "app.cli.documents.access", "explain_access", "Say whether a user may read a document today, and why.",
    ),
    "serve": Place("app.cli.processes", "serve", "Serve the API and the page."),
    "worker": Place(
        "app.cli.processes", "worker",
        "Run questions, documents and steps of remote agents from their queues, on this or any other machine.",
    ),
    "ask": Place("app.cli.questions", "ask", "Ask one question and print the answer with its evidence."),
    "chat": Place(
        "app.cli.questions", "chat", "Ask one question after another in one conversation; an empty line ends it."
    ),
    "token": Place("app.cli.tokens", "token", "Print a bearer token, and nothing else."),
    "seed": Place(
        "app.cli.upkeep", "seed",
        "Bring the demo tenants, users, documents and logs into the database; what is there already is skipped.",
    ),
    "doctor": Place(
        "app.cli.doctor", "doctor", "Print the settings (secrets hidden) and check that everything works."
    ),
    "tenant": Place("app.cli.admin", "tenant_commands", "Tenants."),
    "user": Place("app.cli.admin", "user_commands", "Users of a tenant and what they may read."),
    "db": Place("app.cli.upkeep", "db_commands", "The database's schema."),
    "documents": Place(
        "app.cli.documents.catalogue", "document_commands", "Documents of a tenant: look at them, delete them."
    ),
    "logs": Place("app.cli.logs", "log_commands", "System logs."),
    "mcp": Place("app.cli.mcp", "mcp_commands", "MCP servers and their approved tools."),
    "eval": Place("app.cli.evaluation", "eval_commands", "How good the answers are."),
}  # fmt: skip


class Commands(LaterGroup):
    """Those of `PLACES`."""

    places = PLACES
