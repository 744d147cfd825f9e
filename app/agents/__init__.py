"""Department agents: YAML specs, the registry of who may use them, and running one step."""
