"""Writes a raster that takes seconds to compress.

    make_large.py FILE [EDGE]
"""

import sys

import numpy
import rasterio
from rasterio.transform import from_bounds

edge = int(sys.argv[2]) if len(sys.argv) > 2 else 8192
random = numpy.random.default_rng(3)
with rasterio.open(sys.argv[1], "w", driver="GTiff", height=edge, width=edge, count=1, dtype="uint16",
                   crs="EPSG:32633", transform=from_bounds(5e5, 5e6, 5e5 + edge, 5e6 + edge, edge, edge),
                   tiled=True) as file:
    for row in range(0, edge, 256):
        block = random.integers(0, 65535, (min(256, edge - row), edge), dtype="uint16")
        file.write(block, 1, window=((row, row + block.shape[0]), (0, edge)))
