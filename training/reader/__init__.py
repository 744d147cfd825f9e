"""Fitting of readers."""
