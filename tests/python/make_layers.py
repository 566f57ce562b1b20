"""Writes vector layers into a folder: good ones, odd ones that are good too, and such that are wrong in one way each.

    make_layers.py FOLDER
"""

import json
import pathlib
import shutil
import sqlite3
import struct
import sys
import zipfile

import numpy
import pyogrio.raw

ROOT = pathlib.Path(sys.argv[1])


def layer(name, features, **more):
    text = json.dumps({"type": "FeatureCollection", "features": features} | more)
    (ROOT / name).write_text(text)


def feature(kind, coordinates, **properties):
    geometry = {"type": kind, "coordinates": coordinates} if kind else None
    return {"type": "Feature", "properties": properties, "geometry": geometry}


def square(x, y, size=1.0):
    return [[[x, y], [x + size, y], [x + size, y + size], [x, y + size], [x, y]]]


def points(name, places, crs="EPSG:4326", names=None, **more):
    """A layer of points in any format."""
    geometry = numpy.array([struct.pack("<BIdd", 1, 1, x, y) for x, y in places], dtype=object)
    texts = numpy.array(names or [f"nr {n}" for n in range(len(places))], dtype=object)
    pyogrio.raw.write(ROOT / name, geometry, [texts], ["name"], geometry_type="Point", crs=crs, **more)


def archive(name, **files):
    with zipfile.ZipFile(ROOT / name, "w", zipfile.ZIP_DEFLATED) as file:
        for inner, content in files.items():
            file.writestr(inner, content)


def cut(name, target, part=0.6):
    whole = (ROOT / name).read_bytes()
    (ROOT / target).write_bytes(whole[: int(len(whole) * part)])


def shapefile(name, without, **more):
    """One of whose files something is missing."""
    points(f"{name}.shp", GRID, **more)
    (ROOT / f"{name}.{without}").unlink()


GRID = [(n % 30, n // 30) for n in range(900)]
squares = [feature("Polygon", square(n, n), name=f"nr {n}", n=n, x=n / 3, at="2024-05-01T10:00:00Z")
           for n in range(10)]

# Good ones, however odd.
layer("good.geojson", squares)
bow = [[[0, 0], [2, 2], [2, 0], [0, 2], [0, 0]]]
layer("bow_tie.geojson", [feature("Polygon", bow, n=1), feature("Polygon", square(5, 5), n=2)])
layer("mixed.geojson", [feature("Point", [1, 2], n=1), feature("Polygon", square(0, 0), n=2),
                        feature("LineString", [[0, 0], [1, 1]], n=3)])
layer("names.geojson", [feature("Point", [1, 2], **{
    "geom": 1, "FID": 2, "Name": "a", "NAME": "b", "select": 3, 'quo"te': 4, "ä" * 80: 5, "'; drop table x; --": 6,
})])
points("numbers.gpkg", [(1, 2), (float("nan"), 2), (1, float("inf")), (3, 4)])
points("cyrillic.shp", [(37, 55)], names=["Москва"], encoding="CP1251")
(ROOT / "latin.csv").write_bytes(b"WKT,name\n\"POINT (1 2)\",M\xfcnchen\n")
(ROOT / "mark.geojson").write_bytes(b"\xef\xbb\xbf" + (ROOT / "good.geojson").read_bytes())
shapefile("no_dbf", "dbf")
shutil.copytree(ROOT, ROOT / "packed", ignore=lambda _, names: [n for n in names if not n.startswith("cyrillic")])
shutil.make_archive(str(ROOT / "cyrillic"), "zip", ROOT / "packed")
shutil.rmtree(ROOT / "packed")

# Not a layer at all.
(ROOT / "zero.geojson").write_bytes(b"")
(ROOT / "text.gpkg").write_text("This is no geopackage.")
(ROOT / "vrt.geojson").write_text('<OGRVRTDataSource><OGRVRTLayer name="x"><SrcDataSource>good.geojson'
                                  "</SrcDataSource></OGRVRTLayer></OGRVRTDataSource>")
(ROOT / "wide.geojson").write_bytes((ROOT / "good.geojson").read_text().encode("utf-16"))

# Cut off.
points("whole.gpkg", GRID)
points("whole.fgb", GRID)
cut("good.geojson", "cut.geojson")
cut("whole.gpkg", "cut.gpkg")
cut("whole.fgb", "cut.fgb")
for part in ("shp", "shx", "dbf", "prj"):
    (ROOT / f"cut.{part}").unlink(missing_ok=True)
points("cut.shp", GRID)
cut("cut.shp", "cut.shp")

# Without what a layer needs.
layer("empty.geojson", [])
layer("null.geojson", [feature(None, None, n=1)])
layer("columns.geojson", [feature("Point", [1, 2], **{f"c{n}": n for n in range(10_000)})])
layer("far.geojson", [feature("Point", [1e6, 2e6], n=1)])
points("nowhere.gpkg", [(float("nan"), 2), (float("inf"), 3)])
points("beyond.gpkg", [(9e14, 9e14)], crs="EPSG:32633")
(ROOT / "table.csv").write_text("a,b\n1,2\n")
shapefile("no_shx", "shx")
shapefile("no_prj", "prj")
points("several.gpkg", GRID[:3], layer="one")
points("several.gpkg", GRID[:3], layer="other", append=True)
points("unknown.gpkg", GRID[:3])
with sqlite3.connect(ROOT / "unknown.gpkg") as database:
    # A reference system that nobody has defined.
    database.execute("insert into gpkg_spatial_ref_sys values ('?', 77777, 'nobody', 77777, 'undefined', '')")
    database.execute("update gpkg_contents set srs_id = 77777")
    database.execute("update gpkg_geometry_columns set srs_id = 77777")
database.close()

# Archives.
whole = (ROOT / "good.geojson").read_bytes()
archive("good.zip", **{"a/good.geojson": whole})
cut("good.zip", "cut.zip", 0.9)
archive("slip.zip", **{"../../slip.geojson": whole})
archive("bomb.zip", **{"bomb.geojson": b"0" * 300_000_000})
archive("none.zip", **{"readme.txt": "nothing here"})
archive("nested.zip", **{"inner.zip": (ROOT / "good.zip").read_bytes()})
archive("two.zip", **{"a.geojson": whole, "b.geojson": whole})
with zipfile.ZipFile(ROOT / "linked.zip", "w") as file:
    info = zipfile.ZipInfo("link.geojson")
    info.create_system, info.external_attr = 3, 0o120777 << 16
    file.writestr(info, "/etc/hostname")
locked = bytearray((ROOT / "good.zip").read_bytes())
# The mark of a password, in front of the file and in the directory.
locked[6] |= 1
locked[locked.index(b"PK\x01\x02") + 8] |= 1
(ROOT / "locked.zip").write_bytes(locked)
