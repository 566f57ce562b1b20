"""Writes pictures into a folder: a smooth one with and without transparency, and one of real pixels.

    make_pictures.py FOLDER LANDSAT
"""

import pathlib
import sys

import numpy
import rasterio
from rasterio.transform import from_bounds

EDGE = 1024
root = pathlib.Path(sys.argv[1])
x, y = numpy.meshgrid(numpy.linspace(0, 1, EDGE), numpy.linspace(0, 1, EDGE))
hills = [
    127 + 100 * numpy.sin(9 * x + 3 * y),
    127 + 90 * numpy.cos(5 * x - 7 * y),
    255 * (x + y) / 2,
]
colors = numpy.stack(hills).clip(0, 255).astype("uint8")
# Half of a disc is see-through, its inside is not there at all.
radius = numpy.hypot(x - 0.5, y - 0.5)
alpha = numpy.where(radius < 0.2, 0, numpy.where(radius < 0.3, 128, 255)).astype("uint8")
profile = {"driver": "GTiff", "height": EDGE, "width": EDGE, "dtype": "uint8", "crs": "EPSG:32633",
           "transform": from_bounds(5e5, 5e6, 5e5 + EDGE, 5e6 + EDGE, EDGE, EDGE), "photometric": "RGB"}
with rasterio.open(root / "smooth.tif", "w", count=3, **profile) as file:
    file.write(colors)
with rasterio.open(root / "veiled.tif", "w", count=4, ALPHA="YES", **profile) as file:
    file.write(numpy.concatenate([colors, alpha[numpy.newaxis]]))
with rasterio.open(sys.argv[2]) as landsat:
    # Red, green and blue of the satellite.
    bands = landsat.read([3, 2, 1])
    real = profile | {"height": landsat.height, "width": landsat.width, "crs": landsat.crs,
                      "transform": landsat.transform}
with rasterio.open(root / "landsat.tif", "w", count=3, **real) as file:
    file.write(bands)
