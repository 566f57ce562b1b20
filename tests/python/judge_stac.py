"""Validates STAC objects: core schemas are inside pystac, those of extensions come from a folder.

    judge_stac.py [FOLDER_OF_SCHEMAS] < list-of-objects.json

Without the folder only the core is judged.

Prints how many are valid; the first that is not ends it with its error.
"""

import json
import pathlib
import sys

import pystac
from pystac.validation import RegisteredValidator
from pystac.validation.stac_validator import JsonSchemaSTACValidator

NAMES = {
    "https://stac-extensions.github.io/projection/v2.0.0/schema.json": "projection-v2.0.0.json",
    "https://stac-extensions.github.io/raster/v2.0.0/schema.json": "raster-v2.0.0.json",
    "https://stac-extensions.github.io/file/v2.1.0/schema.json": "file-v2.1.0.json",
}


def main() -> None:
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None
    validator = JsonSchemaSTACValidator()
    for uri, name in NAMES.items() if folder else ():
        found = [folder / name, *folder.rglob(name)]
        schema = next((path for path in found if path.exists()), None)
        if schema is None:
            sys.exit(f"there is no {name} among the schemas")
        validator.schema_cache[uri] = json.loads(schema.read_text())
    RegisteredValidator.set_validator(validator)
    objects = json.load(sys.stdin)
    for described in objects:
        unknown = set(described.get("stac_extensions", [])) - set(NAMES)
        if unknown:
            sys.exit(f"{described['id']} uses extensions without a schema here: {unknown}")
        if folder is None:
            described = described | {"stac_extensions": []}
        pystac.read_dict(described).validate()
    print(len(objects))


main()
