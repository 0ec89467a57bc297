"""Export a small DistilBERT classifier as everybody does, with PyTorch's answers for three batches.

Two layers, hidden size 64, seeded random weights, a small vocabulary; torch.onnx.export (TorchScript exporter, opset 17)
with dynamic batch and sequence axes. The three batches differ in size and length and carry padding masks.
"""

import argparse
import pathlib

import numpy as np
import torch
from transformers import DistilBertConfig, DistilBertForSequenceClassification

import fixtures


class Logits(torch.nn.Module):
    """The classifier with tensors in and one tensor out."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids, attention_mask=attention_mask).logits


def build(seed):
    """The seeded model, in evaluation mode."""
    fixtures.seed_all(seed)
    config = DistilBertConfig(
        vocab_size=500,
        max_position_embeddings=128,
        n_layers=2,
        n_heads=4,
        dim=64,
        hidden_dim=256,
        num_labels=3,
        initializer_range=0.2,
        attn_implementation="eager",
    )
    return Logits(DistilBertForSequenceClassification(config)).eval()


def batch(rng, lengths, vocabulary=500):
    """Token ids and mask of sentences with the given lengths, padded with token 0 to the longest."""
    width = max(lengths)
    ids = np.zeros((len(lengths), width), np.int64)
    mask = np.zeros((len(lengths), width), np.int64)
    for row, length in enumerate(lengths):
        ids[row, :length] = rng.integers(1, vocabulary, length)
        mask[row, :length] = 1
    return [ids, mask]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=fixtures.DATA / "distilbert", help="folder to write")
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()

    module = build(arguments.seed)
    rng = np.random.default_rng(arguments.seed)
    batches = [batch(rng, [12, 7]), batch(rng, [1]), batch(rng, [40, 33, 5])]
    axes = {0: "batch", 1: "sequence"}
    model = fixtures.export_torch(
        module,
        tuple(map(torch.from_numpy, batches[0])),
        ["input_ids", "attention_mask"],
        ["logits"],
        {"input_ids": axes, "attention_mask": axes, "logits": {0: "batch"}},
    )
    with torch.no_grad():
        sets = [(inputs, [module(*map(torch.from_numpy, inputs)).numpy()]) for inputs in batches]
    worst = fixtures.check_against(model, sets)
    fixtures.write_fixture(arguments.out, model, sets)
    size = (arguments.out / "model.onnx").stat().st_size
    print(f"{arguments.out.name}: {size} bytes, {len(model.graph.node)} nodes, ONNX Runtime off by {worst:.1e}")


if __name__ == "__main__":
    main()
