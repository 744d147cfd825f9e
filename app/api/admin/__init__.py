"""Routes for administrators of a tenant: its tasks and queues, its spending, its people, agents and evaluations."""
