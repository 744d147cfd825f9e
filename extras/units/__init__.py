"""Convert amounts between units of measure, exactly: `unit_tool`; docs/calculating.md."""
