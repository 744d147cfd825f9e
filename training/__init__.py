"""Scripts that fit the models of the package."""
