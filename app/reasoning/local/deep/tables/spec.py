"""What the program does with a table."""

from dataclasses import dataclass, field

from pydantic import JsonValue


@dataclass
class Spec:
    """What the program does; columns by their place."""

    filters: list[list[JsonValue]] = field(default_factory=list)
    """``[column, sign, value]``; signs ``= != < <= > >= in between``; a column on the right as ``{"column": 3}``."""
    measure: list[JsonValue] = field(default_factory=list)
    """Columns that are multiplied; empty = rows are counted."""
    aggregate: str = "sum"
    group: int | None = None
    order: str = ""
    """``most`` or ``least``: the group or row at an end."""
    place: int = 1
    answer: str = "value"
    """``value``, ``label`` or ``list``."""
    label: int = 0
    compared: list[JsonValue] = field(default_factory=list)
    """Column and two values whose aggregates are subtracted."""
    charge: dict[str, JsonValue] = field(default_factory=dict)
    """A rate of a rule: ``rate``, ``first``, ``free``, ``cap``."""
    unit: str = ""

    def as_json(self) -> dict[str, JsonValue]:
        """For the program."""
        return {
            "filters": list(self.filters),
            "measure": list(self.measure),
            "aggregate": self.aggregate,
            "group": self.group,
            "order": self.order,
            "place": self.place,
            "answer": self.answer,
            "label": self.label,
            "compared": list(self.compared),
            "charge": dict(self.charge),
        }
