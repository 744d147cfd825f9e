"""Fitting of what utterances are."""
