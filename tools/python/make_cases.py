"""Make one-operator cases for what the ONNX backend tests leave out, under tests/data/cases.

Operators without any case there (ai.onnx.ml, GlobalLpPool, MaxRoiPool, the random family), operator versions that no case
uses, recurrent networks with all their options, com.microsoft operators, zero-size tensors, negative axes, odd ranks, casts.
"""

import argparse
import importlib
import pathlib
import sys
import warnings

import cases_core
import fixtures

MODULES = (
    "cases_old_versions",
    "cases_shapes",
    "cases_types",
    "cases_nn",
    "cases_recurrent",
    "cases_ml",
    "cases_random",
    "cases_control",
    "cases_text",
    "cases_contrib",
    "cases_quantised",
    "cases_rare",
    "cases_newest",
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=fixtures.DATA / "cases", help="folder to write")
    parser.add_argument("--module", action="append", choices=MODULES, help="only this module (may be repeated)")
    parser.add_argument("--only", help="only cases whose name contains this text; the folder's tables stay as they are")
    arguments = parser.parse_args()

    fixtures.stable_hashing()
    warnings.simplefilter("ignore")
    suite = cases_core.Suite()
    for name in arguments.module or MODULES:
        for group in importlib.import_module(name).GROUPS:
            suite.begin(f"{name}.{group.__name__}")
            group(suite)
    if not arguments.only:
        cases_core.clear(arguments.out)
    written = suite.solve_and_write(arguments.out, arguments.only)
    print(f"{written} cases written")
    if suite.failures:
        sys.exit(f"failed: {len(suite.failures)}")


if __name__ == "__main__":
    main()
