"""Many processes on one database, and everything that can happen to them: killed, paused, cut off, restarted."""
