from tests.unit.tools.conftest import settled_heap

__all__ = ["settled_heap"]
