"""How close a picture is to its source: the peak signal-to-noise ratio of its colours, where it can be seen.

    judge_picture.py PICTURE SOURCE

Prints one JSON object. Equal pictures have no noise; their ratio is given as 999.
"""

import json
import sys

import numpy
import rasterio
from rio_cogeo.cogeo import cog_validate


def main():
    with rasterio.open(sys.argv[1]) as made, rasterio.open(sys.argv[2]) as source:
        mine, theirs = made.read(), source.read()
        seen = numpy.ones(mine.shape[1:], dtype=bool)
        alpha = True
        if source.count == 4:
            alpha = bool(numpy.array_equal(mine[3], theirs[3]))
            seen = theirs[3] > 0
            mine, theirs = mine[:3], theirs[:3]
        difference = mine[:, seen].astype("float64") - theirs[:, seen]
        mse = float((difference**2).mean())
        said = {
            "psnr": 10 * numpy.log10(255**2 / mse) if mse else 999,
            "worst": float(abs(difference).max()),
            "alpha": alpha,
            "shape": made.shape == source.shape and made.count == source.count,
            "compression": made.compression.value,
            "transform": bool(numpy.allclose(source.transform, made.transform, rtol=1e-9, atol=0)),
        }
    said["valid"] = cog_validate(sys.argv[1], strict=True, quiet=True)[0]
    print(json.dumps(said))


main()
