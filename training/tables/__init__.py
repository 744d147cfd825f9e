"""Reading questions to tables by ranking whole queries: an experiment, not used by the service."""
