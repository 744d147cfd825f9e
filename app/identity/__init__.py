"""Who there is and how programs come in: people and keys of a tenant."""
