"""Compares a tile with the part of its source that lies under it.

    judge_tile.py TILE SOURCE

Prints one JSON object.
"""

import json
import sys

import numpy
import rasterio
from rasterio.windows import from_bounds
from rio_cogeo.cogeo import cog_validate

with rasterio.open(sys.argv[1]) as tile, rasterio.open(sys.argv[2]) as source:
    window = from_bounds(*tile.bounds, transform=source.transform).round_offsets().round_lengths()
    equal = bool(numpy.array_equal(tile.read(), source.read(window=window)))
print(json.dumps({"valid": cog_validate(sys.argv[1], strict=True, quiet=True)[0], "equal": equal}))
