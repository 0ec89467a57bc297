"""Make small models of many kinds, each with answers from PyTorch or scikit-learn, under tests/data/models.

The kinds are spread over modules: models_transformers, models_recurrent, models_sklearn. Each has a table MODELS of name and
function; a function returns (ModelProto, list of (inputs, outputs)). ONNX Runtime is run on each as a check of the
export, never as the source of an expected value unless the function says so.
"""

import argparse
import importlib
import pathlib
import sys
import traceback
import warnings
import zlib

import fixtures

MODULES = ("models_transformers", "models_recurrent", "models_sklearn")
LIMIT_BYTES = 200_000


def find_models(modules):
    """All models by name, in the order of the tables; a module that is not there is a plain error."""
    models = {}
    for name in modules:
        models.update(importlib.import_module(name).MODELS)
    return models


def make(name, function, out):
    """Make one model's folder and return a line about it."""
    fixtures.seed_all(zlib.crc32(name.encode()) % 1000)
    model, sets = function()
    model.producer_version = ""
    folder = fixtures.write_fixture(out / name, model, sets)
    size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
    if size > LIMIT_BYTES:
        raise ValueError(f"{size} bytes, more than {LIMIT_BYTES}")
    worst = fixtures.check_against(model, sets)
    return f"{name}: {size} bytes, {len(model.graph.node)} nodes, {len(sets)} sets, ONNX Runtime off by {worst:.1e}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=fixtures.DATA / "models", help="folder to write")
    parser.add_argument("--module", action="append", choices=MODULES, help="only this module (may be repeated)")
    parser.add_argument("--only", action="append", help="only the model of this name (may be repeated)")
    parser.add_argument("--list", action="store_true", help="print the names")
    arguments = parser.parse_args()

    fixtures.stable_hashing()
    warnings.simplefilter("ignore")
    models = find_models(arguments.module or MODULES)
    if arguments.list:
        print("\n".join(models))
        return
    failed = []
    for name in arguments.only or models:
        try:
            print(make(name, models[name], arguments.out), flush=True)
        except Exception as error:
            failed.append(name)
            place = traceback.extract_tb(error.__traceback__)[-1]
            print(f"{name}: FAILED {type(error).__name__}: {str(error)[:300]} ({place.name}:{place.lineno})", flush=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
