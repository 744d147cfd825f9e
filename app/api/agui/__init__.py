"""The service as frontends that speak AG-UI 1.0 see it: `POST /ag-ui`.

A run is a projection of the same journal as every other answer; a thread is a session.
"""
