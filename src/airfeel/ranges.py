"""Types of settings, with their legal ranges; a part's fields and the config share them.

>>> from pydantic import TypeAdapter
>>> TypeAdapter(Annotated[Positive, about("mean power", "W")]).json_schema()["description"]
'mean power [W]'
"""

from typing import Annotated

from pydantic import Field
from pydantic.fields import FieldInfo

Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
Each = Positive | tuple[Positive, ...]  # one, or one for each device
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Below1 = Annotated[float, Field(ge=0.0, lt=1.0, allow_inf_nan=False)]
AtLeastHalf = Annotated[float, Field(ge=0.5, allow_inf_nan=False)]
_LARGEST = 2**63 - 1  # what a machine's integer holds
Count = Annotated[int, Field(ge=1, le=_LARGEST, strict=True)]
Whole = Annotated[int, Field(ge=0, le=_LARGEST, strict=True)]


def about(text: str, unit: str = "") -> FieldInfo:
    """One line of help on a setting, and its unit where it has one.

    Args:
        text: what the setting is.
        unit: as it is written in brackets, "W" or "s"; none for pure numbers.

    >>> about("mean power", "W").description
    'mean power [W]'
    """
    info: FieldInfo = Field(description=f"{text} [{unit}]" if unit else text)
    return info
