"""Search in the system logs: `log_tool`, `/api/v1/logs`, `conclave logs`. `lines` keeps them."""
