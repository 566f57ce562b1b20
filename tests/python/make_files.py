"""Writes rasters and layers that are wrong in one way each, and good ones, into a folder.

    make_files.py FOLDER
"""

import json
import os
import pathlib
import struct
import sys
import zipfile

import numpy
import rasterio
from rasterio.transform import Affine, from_bounds

ROOT = pathlib.Path(sys.argv[1])
NORTH = from_bounds(10, 45, 11, 46, 64, 64)


def raster(name, data, crs="EPSG:4326", transform=NORTH, **more):
    data = numpy.atleast_3d(data) if data.ndim == 3 else data[numpy.newaxis]
    count, height, width = data.shape
    profile = {"driver": "GTiff", "height": height, "width": width, "count": count, "dtype": data.dtype}
    with rasterio.open(ROOT / name, "w", crs=crs, transform=transform, **(profile | more)) as file:
        file.write(data)
        return file


def layer(name, features, **more):
    text = json.dumps({"type": "FeatureCollection", "features": features} | more)
    (ROOT / name).write_text(text)


def feature(kind, coordinates, **properties):
    geometry = {"type": kind, "coordinates": coordinates} if kind else None
    return {"type": "Feature", "properties": properties, "geometry": geometry}


def square(x, y, size=1.0):
    return [[[x, y], [x + size, y], [x + size, y + size], [x, y + size], [x, y]]]


random = numpy.random.default_rng(7)
bytes_ = random.integers(0, 255, (64, 64), dtype="uint8")
floats = random.random((64, 64), dtype="float32") * 900

# Good ones.
raster("dem.tif", floats, nodata=-9999)
raster("nan.tif", numpy.where(floats < 100, numpy.nan, floats).astype("float32"), nodata=float("nan"))
raster("rgb.tif", numpy.stack([bytes_] * 3), photometric="RGB")
raster("large.tif", random.integers(0, 4000, (2048, 2048), dtype="uint16"),
       transform=from_bounds(500000, 5000000, 520480, 5020480, 2048, 2048), crs="EPSG:32633")
with rasterio.open(ROOT / "palette.tif", "w", driver="GTiff", height=64, width=64, count=1, dtype="uint8",
                   crs="EPSG:4326", transform=NORTH) as file:
    file.write((bytes_ % 4)[numpy.newaxis])
    file.write_colormap(1, {n: (n * 60, 10, 10, 255) for n in range(4)})
raster("bit.tif", bytes_ % 2, nbits=1)
layer("good.geojson", [feature("Polygon", square(n, n), name=f"nr {n}", n=n, x=n / 3, at="2024-05-01T10:00:00Z")
                       for n in range(10)])

# Bad rasters.
(ROOT / "zero.tif").write_bytes(b"")
(ROOT / "text.tif").write_text("This is no raster, whatever its name says.\n")
(ROOT / "html.tif").write_text("<html><body>404</body></html>")
whole = (ROOT / "large.tif").read_bytes()
(ROOT / "truncated.tif").write_bytes(whole[: len(whole) * 6 // 10])
broken = bytearray((ROOT / "dem.tif").read_bytes())
raster("packed.tif", random.integers(0, 9, (512, 512), dtype="uint16"), compress="deflate", tiled=True)
packed = bytearray((ROOT / "packed.tif").read_bytes())
packed[len(packed) // 3 :] = bytes(len(packed) - len(packed) // 3)
(ROOT / "corrupt.tif").write_bytes(packed)
raster("no_crs.tif", bytes_, crs=None)
raster("outside.tif", bytes_, transform=from_bounds(10_000, 20_000, 11_000, 21_000, 64, 64))
raster("complex.tif", (bytes_ + 1j * bytes_).astype("complex64"))
vrt = '<VRTDataset rasterXSize="9" rasterYSize="9"><VRTRasterBand dataType="Byte" band="1"><SimpleSource>' \
      '<SourceFilename relativeToVRT="0">/etc/hostname</SourceFilename></SimpleSource></VRTRasterBand></VRTDataset>'
(ROOT / "vrt.tif").write_text(vrt)
(ROOT / "remote.vrt").write_text(vrt.replace("/etc/hostname", "/vsicurl/http://127.0.0.1:9/a.tif"))
with rasterio.open(ROOT / "huge.tif", "w", driver="GTiff", height=600_000, width=600_000, count=1, dtype="uint16",
                   crs="EPSG:4326", transform=from_bounds(0, 0, 10, 10, 600_000, 600_000), tiled=True,
                   blockxsize=8192, blockysize=8192, sparse_ok=True, bigtiff=True, compress="deflate"):
    pass
(ROOT / "folder.tif").mkdir(exist_ok=True)
(ROOT / "header.tif").write_bytes(struct.pack("<2sHI", b"II", 42, 8) + b"\xff" * 64)
os.symlink("/etc/hostname", ROOT / "link.tif")

# Bad layers.
(ROOT / "zero.geojson").write_bytes(b"")
(ROOT / "text.gpkg").write_text("This is no geopackage.")
(ROOT / "broken.geojson").write_text('{"type": "FeatureCollection", "features": [{"type": "Fea')
layer("empty.geojson", [])
layer("null.geojson", [feature(None, None, n=1)])
bow = [[[0, 0], [2, 2], [2, 0], [0, 2], [0, 0]]]
layer("bow_tie.geojson", [feature("Polygon", bow, n=1), feature("Polygon", square(5, 5), n=2)])
layer("mixed.geojson", [feature("Point", [1, 2], n=1), feature("Polygon", square(0, 0), n=2),
                        feature("LineString", [[0, 0], [1, 1]], n=3)])
layer("columns.geojson", [feature("Point", [1, 2], **{f"c{n}": n for n in range(10_000)})])
layer("names.geojson", [feature("Point", [1, 2], **{"geom": 1, "FID": 2, "Name": "a", "NAME": "b",
                                                     "select": 3, 'quo"te': 4, "ä" * 80: 5})])
layer("far.geojson", [feature("Point", [1e6, 2e6], n=1)])
(ROOT / "latin.csv").write_bytes(b"WKT,name\n\"POINT (1 2)\",M\xfcnchen\n")
with zipfile.ZipFile(ROOT / "slip.zip", "w") as file:
    file.writestr("../../slip.geojson", "{}")
with zipfile.ZipFile(ROOT / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as file:
    file.writestr("bomb.geojson", b"0" * 300_000_000)
with zipfile.ZipFile(ROOT / "none.zip", "w") as file:
    file.writestr("readme.txt", "nothing here")
print(len(list(ROOT.iterdir())))
