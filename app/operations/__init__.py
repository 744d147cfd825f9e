"""What an operator sees of a running process: figures for Prometheus."""
