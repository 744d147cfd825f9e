"""Units of work: the registry that owns their states, the queue that delivers them, the worker that runs them."""
