"""The command line for documents: bring them in, look at them, delete them, and ask why somebody may read one."""
