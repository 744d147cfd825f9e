"""Untrusted bytes in a process of their own: it can be killed, and it can do nothing but compute."""

from app.tools.isolation.isolated import Isolated, IsolationEnd, IsolationFailed, ProcessLimits

__all__ = ["Isolated", "IsolationEnd", "IsolationFailed", "ProcessLimits"]
