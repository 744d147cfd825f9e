"""Tools of MCP servers: what is known of a server (`spec`), how it is spoken to (`connections`, each a `session` over a
`transport`), and each of its tools as one of ours (`adapter`).

A server is not trusted. Its tool list counts only as an administrator approved it, its results are text of a stranger,
it is told the name of a tool and the arguments and nothing else, and it is given bytes, seconds and places to use up.
"""
