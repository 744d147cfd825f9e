"""Accounts of people whose company has no identity provider: the routes, the command, and codes beside passwords."""
