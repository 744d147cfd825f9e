"""Scripts that train what `app.text` holds."""
