"""Tell what became different between two days, documents and statements: `changes_tool`; docs/versions.md."""
