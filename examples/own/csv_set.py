"""A data set from a file: a table of numbers, the class of a sample in its last column.

airfeel run digits-tcs-h --set data.dataset=csv_set:read --set data.dataset.file=iris.csv
"""

from typing import Annotated

import numpy as np

from airfeel.parts import Count, about


def read(
    file: Annotated[str, about("numbers with commas between them, a sample per line")],
    test_every: Annotated[Count, about("one sample of so many is for testing")] = 5,
):
    """train_x, train_y, test_x, test_y; a sample is a picture of 1 × 1 × features."""
    table = np.loadtxt(file, delimiter=",", ndmin=2)
    x, y = table[:, None, None, :-1].astype(np.float32), table[:, -1].astype(np.int64)
    test = np.arange(len(y)) % test_every == 0
    return x[~test], y[~test], x[test], y[test]
