"""The service as frontends built with Vercel's AI SDK see it: `POST /ui/chat` and its stream to come back to.

A message is a projection of the same journal as every other answer (UI message stream, version 1); a chat is a session.
"""
