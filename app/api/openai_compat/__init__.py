"""The service as programs that speak OpenAI's chat completions see it: `GET /v1/models`, `POST /v1/chat/completions`.

A model is who answers: ``auto``, one department agent, or ``deep``. A completion is a projection of the same journal
as every other answer.
"""
