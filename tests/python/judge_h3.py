"""Compares cells with those of the package h3: the box 10..11, 45..46 is covered, and `fine` are the descendants of
`base`.

    judge_h3.py < {"base": [...], "fine": [...]}
"""

import json
import sys

import h3

given = json.load(sys.stdin)
base = {h3.int_to_str(cell) for cell in given["base"]}
fine = {h3.int_to_str(cell) for cell in given["fine"]}
box = h3.LatLngPoly([(45, 10), (45, 11), (46, 11), (46, 10)])
inside = set(h3.polygon_to_cells(box, 5))
steps = [(45 + y / 200, 10 + x / 200) for x in range(201) for y in range(201)]
touched = {h3.latlng_to_cell(lat, lng, 5) for lat, lng in steps}
near = {cell for one in inside | touched for cell in h3.grid_disk(one, 1)}
descendants = {child for cell in base for child in h3.cell_to_children(cell, 7)}
print(json.dumps({"covered": inside | touched <= base <= near, "descendants": descendants == fine}))
