"""Compares a reprojected COG with what gdalwarp makes of its source.

    judge_warp.py COG SOURCE CRS METHOD

Prints one JSON object: whether frame, pixels and mask are the same, and how many pixels have data.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import rasterio
from rio_cogeo.cogeo import cog_validate


def warp(source, target, crs, method, has_nodata):
    # Without nodata, only an alpha band says what lies outside.
    alpha = [] if has_nodata else ["-dstalpha"]
    command = ["gdalwarp", "-q", "-t_srs", crs, "-r", method, *alpha, source, str(target)]
    subprocess.run(command, check=True, timeout=120)


def seen_in(file, count):
    """Where there is data: by the alpha band that warping has added, or by nodata."""
    return file.read(count + 1) > 0 if file.count > count else file.dataset_mask() > 0


def main():
    cog, source, crs, method = sys.argv[1:]
    with rasterio.open(source) as file:
        count, has_nodata = file.count, file.nodata is not None
    with tempfile.TemporaryDirectory() as folder:
        target = pathlib.Path(folder) / "warped.tif"
        warp(source, target, crs, method, has_nodata)
        with rasterio.open(cog) as mine, rasterio.open(target) as theirs:
            bands = list(range(1, count + 1))
            seen = seen_in(theirs, count)
            same = numpy.array_equal(mine.read(bands)[:, seen], theirs.read(bands)[:, seen])
            said = {
                "frame": mine.shape == theirs.shape and mine.transform == theirs.transform and mine.crs == theirs.crs,
                "pixels": bool(same),
                "mask": bool(numpy.array_equal(seen_in(mine, count), seen)),
                "seen": int(seen.sum()),
                "outside": int((~seen).sum()),
            }
    said["valid"] = cog_validate(cog, strict=True, quiet=True)[0]
    print(json.dumps(said))


main()
