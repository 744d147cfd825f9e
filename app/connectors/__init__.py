"""Connectors: documents come from other systems, keep in step with them, and keep the rights they have there."""
