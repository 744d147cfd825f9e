"""Our own MCP servers, one module each: ``python -m extras.servers.math``. They hold no state and know no caller."""

from importlib.util import find_spec
from pathlib import Path

if find_spec("holidays") is None:  # importing it would take long, and only the servers' own processes need it
    raise ModuleNotFoundError("No module named 'holidays'", name="holidays")
SERVERS = Path(__file__).with_name("servers.yaml")
"""What `app.agents.mcp_servers` reads beside the operator's file; approved in the lock file beside it."""
