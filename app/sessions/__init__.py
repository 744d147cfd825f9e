"""Conversations: their history, listing and erasure."""
