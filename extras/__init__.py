"""What an installation may leave out; each part is plugged in as docs/plugins.md and docs/gaia.md say."""
