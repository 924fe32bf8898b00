"""Holds all files of experiments in the folder $1 against the JSON Schema on standard input."""

import copy
import json
import pathlib
import sys
import tomllib

import jsonschema

schema = json.load(sys.stdin)
jsonschema.Draft202012Validator.check_schema(schema)
valid = jsonschema.Draft202012Validator(schema).is_valid
files = sorted(pathlib.Path(sys.argv[1]).glob("*/*.toml"))
assert files, "there are no files"
for path in files:
    document = tomllib.loads(path.read_text())
    assert valid(document), f"{path}: not of the schema"
    for table in [[], ["run"]]:
        wrong = copy.deepcopy(document)
        at = wrong
        for key in table:
            at = at[key]
        at["no_such_key"] = 1
        assert not valid(wrong), f"{path}: a key that there is not is let pass in {table}"
wrong = tomllib.loads((pathlib.Path(sys.argv[1]) / "p3/fig5.toml").read_text())
for value, fits in [(118, True), ([40, 118], True), (119, False), ([], False), ("long", False)]:
    wrong["run"]["payload"] = value
    assert valid(wrong) == fits, f"payload = {value}"
print(f"{len(files)} files are of the schema")
