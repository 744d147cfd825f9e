"""Bringing documents in: `seed` reads them, `blocks` and `chunk` cut them, `pipeline` embeds and publishes them."""
