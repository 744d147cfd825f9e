"""Faces whose protocols an installation may leave out: AG-UI, Vercel's AI SDK and A2A; plugged in as `conclave.faces`.

Each is a file over `app.faces.updates`. AG-UI and A2A are written in the types of their own SDKs (extra `faces`).
"""
