"""Judges COGs: strict layout by rio-cogeo, equal pixels, colours and nodata by rasterio, and a tile by titiler.

    judge_cog.py COG [SOURCE]

Prints one JSON object.
"""

import json
import sys

import numpy
import rasterio
from fastapi import FastAPI
from rasterio.enums import ColorInterp
from rio_cogeo.cogeo import cog_validate
from starlette.testclient import TestClient
from titiler.core.factory import TilerFactory


def palette(raster):
    return raster.colormap(1) if raster.colorinterp[0] == ColorInterp.palette else None


def bits(raster):
    return raster.tags(1, ns="IMAGE_STRUCTURE").get("NBITS")


def main() -> None:
    cog = sys.argv[1]
    valid, errors, warnings = cog_validate(cog, strict=True, quiet=True)
    said = {"valid": valid, "errors": errors, "warnings": warnings}
    if len(sys.argv) > 2:
        with rasterio.open(sys.argv[2]) as source, rasterio.open(cog) as made:
            said["equal"] = bool(
                numpy.array_equal(source.read(), made.read(), equal_nan=source.dtypes[0].startswith("float"))
            )
            said["transform"] = bool(
                numpy.allclose(source.transform.to_gdal(), made.transform.to_gdal(), rtol=1e-9, atol=0)
            )
            said["crs"] = source.crs == made.crs
            said["colors"] = source.colorinterp == made.colorinterp and palette(source) == palette(made)
            said["bits"] = bits(source) == bits(made)
            # NaN is not equal to itself.
            said["nodata"] = repr(source.nodatavals) == repr(made.nodatavals)
    app = FastAPI()
    app.include_router(TilerFactory().router)
    client = TestClient(app)
    info = client.get("/info", params={"url": cog})
    said["titiler"] = info.status_code
    preview = client.get("/preview.png", params={"url": cog, "max_size": 64, "bidx": 1})
    said["preview"] = [preview.status_code, preview.headers.get("content-type")]
    print(json.dumps(said))


main()
