"""Export the bench's zoo: well-known architectures at their real sizes with seeded random weights.

Writes a folder per model with `model.onnx` and `test_data_set_NAME/` per set of inputs, with the answers of native ONNX Runtime,
which PyTorch confirms but for the largest sets, and `tolerances.tsv`. The folder is outside git: it takes 4 GB. TorchScript
exporter, opset 17.
"""

import argparse
import pathlib
import time

import numpy as np
import torch

import fixtures
import models_zoo

ZOO = fixtures.REPOSITORY / ".cache" / "zoo"
SLOW = {"512x8"}
# The detector's boxes are pixels, up to 640.
TOLERANCES = "model\tatol\trtol\n*\t1e-4\t1e-3\nyolov8-like\t1e-2\t1e-3\n"


def export(name, build, folder, opset):
    """Export one model, answer its sets, check PyTorch's answers against them."""
    start = time.monotonic()
    fixtures.seed_all(7)
    torch.set_num_threads(2)
    zoo = build()
    zoo.module.eval()
    models_zoo.make_distinct(zoo.module)
    first = next(iter(zoo.sets.values()))
    with torch.no_grad():
        model = fixtures.export_torch(zoo.module, tuple(map(torch.from_numpy, first)), zoo.inputs, zoo.outputs, zoo.axes, opset)
    answers = fixtures.answers_onnxruntime(model, list(zoo.sets.values()), optimised=True)
    worst = 0.0
    for (key, feeds), outputs in zip(zoo.sets.items(), answers):
        if key in SLOW:
            continue
        with torch.no_grad():
            expected = zoo.module(*map(torch.from_numpy, feeds))
        for actual, tensor in zip(outputs, expected if isinstance(expected, tuple) else (expected,)):
            worst = max(worst, float(np.abs(actual - tensor.numpy()).max() / np.abs(tensor.numpy()).max()))
    assert worst < 1e-3, f"{name}: PyTorch and ONNX Runtime differ by {worst:.1e} of the largest value"
    fixtures.write_fixture(folder / name, model, list(zip(zoo.sets.values(), answers)), names=list(zoo.sets))
    size = (folder / name / "model.onnx").stat().st_size / 1e6
    print(f"{name:26s} {size:6.1f} MB, {len(model.graph.node):4d} nodes, PyTorch off by {worst:.0e}, {time.monotonic() - start:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=ZOO, help="folder to write (default: .cache/zoo)")
    parser.add_argument("--only", help="names of models, separated by commas")
    parser.add_argument("--opset", type=int, default=17)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "tolerances.tsv").write_text(TOLERANCES)
    for name in arguments.only.split(",") if arguments.only else models_zoo.MODELS:
        export(name, models_zoo.MODELS[name], arguments.out, arguments.opset)


if __name__ == "__main__":
    main()
