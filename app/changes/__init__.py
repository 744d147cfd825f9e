"""What became different between two days: documents that took the place of others, and statements that changed."""
