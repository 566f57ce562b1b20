"""Writes rasters into a folder: good ones, odd ones that are good too, and such that are wrong in one way each.

    make_rasters.py FOLDER
"""

import os
import pathlib
import struct
import sys

import numpy
import rasterio
from rasterio.control import GroundControlPoint
from rasterio.transform import Affine, from_bounds

ROOT = pathlib.Path(sys.argv[1])
NORTH = from_bounds(10, 45, 11, 46, 64, 64)


def raster(name, data, crs="EPSG:4326", transform=NORTH, **more):
    data = data if data.ndim == 3 else data[numpy.newaxis]
    count, height, width = data.shape
    profile = {"driver": "GTiff", "height": height, "width": width, "count": count, "dtype": data.dtype}
    with rasterio.open(ROOT / name, "w", crs=crs, transform=transform, **(profile | more)) as file:
        file.write(data)


random = numpy.random.default_rng(7)
bytes_ = random.integers(0, 255, (64, 64), dtype="uint8")
floats = random.random((64, 64), dtype="float32") * 900

# Good ones, however odd.
raster("dem.tif", floats, nodata=-9999)
raster("nan.tif", numpy.where(floats < 100, numpy.nan, floats).astype("float32"), nodata=float("nan"))
raster("rgb.tif", numpy.stack([bytes_] * 3), photometric="RGB")
raster("bit.tif", bytes_ % 2, nbits=1)
raster("wide.tif", random.integers(-(2**31), 2**31 - 1, (64, 64), dtype="int32"), nodata=-(2**31))
raster("rotated.tif", bytes_, crs="EPSG:32633",
       transform=Affine.translation(500_000, 5_000_000) @ Affine.rotation(30) @ Affine.scale(10, -10))
raster("dateline.tif", bytes_, crs="EPSG:3832", transform=from_bounds(1e6, 0, 5e6, 4e6, 64, 64))
with rasterio.open(ROOT / "palette.tif", "w", driver="GTiff", height=64, width=64, count=1, dtype="uint8",
                   crs="EPSG:4326", transform=NORTH) as file:
    file.write((bytes_ % 4)[numpy.newaxis])
    file.write_colormap(1, {n: (n * 60, 10, 10, 255) for n in range(4)})

# Not a raster at all.
(ROOT / "zero.tif").write_bytes(b"")
(ROOT / "text.tif").write_text("This is no raster, whatever its name says.\n")
(ROOT / "html.tif").write_text("<html><body>404</body></html>")
(ROOT / "header.tif").write_bytes(struct.pack("<2sHI", b"II", 42, 8) + b"\xff" * 64)
vrt = '<VRTDataset rasterXSize="9" rasterYSize="9"><VRTRasterBand dataType="Byte" band="1"><SimpleSource>' \
      '<SourceFilename relativeToVRT="0">/etc/hostname</SourceFilename></SimpleSource></VRTRasterBand></VRTDataset>'
(ROOT / "vrt.tif").write_text(vrt)
(ROOT / "remote.vrt").write_text(vrt.replace("/etc/hostname", "/vsicurl/http://127.0.0.1:9/a.tif"))

# Damaged.
raster("large.tif", random.integers(0, 4000, (2048, 2048), dtype="uint16"),
       transform=from_bounds(500000, 5000000, 520480, 5020480, 2048, 2048), crs="EPSG:32633")
whole = (ROOT / "large.tif").read_bytes()
(ROOT / "truncated.tif").write_bytes(whole[: len(whole) * 6 // 10])
raster("packed.tif", random.integers(0, 9, (512, 512), dtype="uint16"), compress="deflate", tiled=True)
packed = bytearray((ROOT / "packed.tif").read_bytes())
packed[len(packed) // 3 :] = bytes(len(packed) - len(packed) // 3)
(ROOT / "corrupt.tif").write_bytes(packed)
for name, edge in (("unwritten.tif", 1024), ("huge.tif", 600_000)):
    # What a killed writer leaves, and a small file that declares 720 GB.
    with rasterio.open(ROOT / name, "w", driver="GTiff", height=edge, width=edge, count=1, dtype="uint16",
                       crs="EPSG:4326", transform=from_bounds(0, 0, 10, 10, edge, edge), tiled=True,
                       blockxsize=512 if edge < 9999 else 8192, blockysize=512 if edge < 9999 else 8192,
                       sparse_ok=True, bigtiff=True, compress="deflate"):
        pass

# Without a place, or in an impossible one.
raster("no_crs.tif", bytes_, crs=None)
raster("no_place.tif", bytes_, transform=None)
raster("outside.tif", bytes_, transform=from_bounds(10_000, 20_000, 11_000, 21_000, 64, 64))
raster("far.tif", bytes_, crs="EPSG:32633", transform=from_bounds(9e11, 5e11, 9e11 + 640, 5e11 + 640, 64, 64))
corners = [GroundControlPoint(row, col, 10 + col / 64, 46 - row / 64) for row in (0, 64) for col in (0, 64)]
raster("gcps.tif", bytes_, transform=None, gcps=corners)
with rasterio.open(ROOT / "plain.png", "w", driver="PNG", height=64, width=64, count=1, dtype="uint8") as file:
    file.write(bytes_[numpy.newaxis])
(ROOT / "plain.png.aux.xml").unlink(missing_ok=True)
raster("complex.tif", (bytes_ + 1j * bytes_).astype("complex64"))

# Not plain files.
(ROOT / "folder.tif").mkdir()
os.mkfifo(ROOT / "pipe.tif")
os.symlink("/etc/hostname", ROOT / "link.tif")
os.symlink("loop.tif", ROOT / "loop.tif")
os.symlink(".", ROOT / "linked")
raster("locked.tif", bytes_)
os.chmod(ROOT / "locked.tif", 0)
