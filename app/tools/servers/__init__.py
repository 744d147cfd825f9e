"""Our own MCP servers, one module each: ``python -m app.tools.servers.math``. They hold no state and know no caller."""
