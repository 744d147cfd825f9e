"""What an installation may leave out; each part is plugged in as docs/evaluation.md and docs/gaia.md say."""
