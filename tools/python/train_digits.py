"""Train the small digit classifier of the quickstart and the demo page.

Data: scikit-learn's bundled digits (1797 images of 8x8, UCI 'Optical Recognition of Handwritten Digits'), enlarged to 28x28
under random maps and pen widths, and digits drawn as pen strokes (digit_strokes.py), which look like those a visitor draws.
The network is three convolutions and one dense layer; batch normalisation is folded into the convolutions on export and
the softmax is part of the graph. Accuracy is measured on held-out images of both kinds.
"""

import argparse
import json
import pathlib

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional

import digit_strokes
import fixtures

DESCRIPTION = (
    "Classifies one handwritten digit. Input 'image': float32 [batch, 1, 28, 28], 0 is paper and 1 is ink, the digit about "
    "20 pixels high and centred. Output 'probabilities': float32 [batch, 10], the softmax over the digits 0 to 9."
)


class DigitNet(nn.Module):
    """Three 3x3 convolutions with pooling between, one dense layer, probabilities out."""

    def __init__(self):
        super().__init__()
        layers, previous = [], 1
        for channels in (12, 24, 40):
            layers += [nn.Conv2d(previous, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(), nn.MaxPool2d(2)]
            previous = channels
        self.features = nn.Sequential(*layers)
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(previous * 9, 10)

    def logits(self, image):
        return self.head(self.dropout(self.features(image).flatten(1)))

    def forward(self, image):
        return self.logits(image).softmax(-1)


def enlarge(images, angle, shear, height, width, shift, threshold, slope):
    """Images [n, 1, 8, 8] to [n, 1, 28, 28]: an affine map each, then a contrast curve that sets the pen's width."""
    cos, sin = torch.cos(angle), torch.sin(angle)
    scale_x, scale_y = digit_strokes.SIZE / width, digit_strokes.SIZE / height
    theta = torch.stack(
        [torch.stack([cos * scale_x, (sin + shear) * scale_x, shift[:, 0]], 1), torch.stack([-sin * scale_y, cos * scale_y, shift[:, 1]], 1)], 1
    )
    grid = functional.affine_grid(theta, [len(images), 1, digit_strokes.SIZE, digit_strokes.SIZE], align_corners=False)
    smooth = functional.grid_sample(images, grid, mode="bicubic", align_corners=False)
    slope, threshold = slope.reshape(-1, 1, 1, 1), threshold.reshape(-1, 1, 1, 1)
    low, high = torch.sigmoid(-slope * threshold), torch.sigmoid(slope * (1 - threshold))
    return ((torch.sigmoid(slope * (smooth - threshold)) - low) / (high - low)).clamp(0, 1)


def plain(images):
    """The images as the tests and the samples show them: 20 pixels high, centred, a medium pen."""
    n = len(images)

    def full(value):
        return torch.full((n,), value)

    return enlarge(images, full(0.0), full(0.0), full(20.0), full(20.0), torch.zeros(n, 2), full(0.45), full(9.0))


def varied(images, generator):
    """The images under random maps: what training sees."""
    n = len(images)

    def uniform(low, high):
        return torch.rand(n, generator=generator) * (high - low) + low

    return enlarge(
        images,
        uniform(-0.25, 0.25),
        uniform(-0.25, 0.25),
        uniform(16, 23),
        uniform(13, 22),
        torch.rand(n, 2, generator=generator) * 0.3 - 0.15,
        uniform(0.25, 0.65),
        uniform(6, 14),
    )


def train(net, images, labels, strokes, stroke_labels, epochs, seed):
    """Adam with a one-cycle rate; each step sees as many stroke digits as scanned ones."""
    generator = torch.Generator().manual_seed(seed)
    half, steps = 64, len(images) // 64
    optimiser = torch.optim.AdamW(net.parameters(), lr=4e-3, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=4e-3, total_steps=epochs * steps)
    net.train()
    for epoch in range(epochs):
        order = torch.randperm(len(images), generator=generator)
        for step in range(steps):
            pick = order[step * half : (step + 1) * half]
            drawn = torch.randint(len(strokes), (half,), generator=generator)
            batch = torch.cat([varied(images[pick], generator), strokes[drawn]])
            target = torch.cat([labels[pick], stroke_labels[drawn]])
            loss = functional.cross_entropy(net.logits(batch), target, label_smoothing=0.03)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
        if (epoch + 1) % 10 == 0:
            print(f"epoch {epoch + 1}/{epochs}: loss {loss.item():.3f}", flush=True)
    net.eval()


def accuracy(net, images, labels):
    with torch.no_grad():
        return (net(images).argmax(1) == labels).float().mean().item()


def describe(model, accuracies):
    """Write what a reader of the file wants to know into the file."""
    model.producer_name = "linnet train_digits.py"
    model.doc_string = DESCRIPTION
    model.graph.name = "digits"
    model.graph.doc_string = DESCRIPTION
    properties = {
        "task": "image-classification",
        "labels": ",".join(map(str, range(10))),
        "input": "image float32 [batch,1,28,28], 0 paper to 1 ink",
        "output": "probabilities float32 [batch,10]",
        "data": "scikit-learn load_digits (UCI optical digits, CC BY 4.0) and generated pen strokes",
        **{key: f"{value:.4f}" for key, value in accuracies.items()},
    }
    for key, value in properties.items():
        model.metadata_props.add(key=key, value=value)
    model.graph.input[0].doc_string = "Grey image: 0 is paper, 1 is ink."
    model.graph.output[0].doc_string = "Probability of each digit."


def write_samples(path, net, images, labels):
    """One held-out image per digit, the first given 0.9 or more, as bytes 0 to 255 (divide by 255 to feed)."""
    pixels = np.rint(images.numpy() * 255).astype(np.uint8)
    with torch.no_grad():
        probabilities = net(torch.from_numpy(pixels / np.float32(255))).numpy()
    samples = []
    for digit in range(10):
        index = int(np.flatnonzero((labels.numpy() == digit) & (probabilities[:, digit] >= 0.9))[0])
        samples.append({"label": digit, "pixels": pixels[index].ravel().tolist(), "probabilities": [round(float(p), 6) for p in probabilities[index]]})
    document = {"shape": [1, 28, 28], "range": 255, "samples": samples}
    path.write_text(json.dumps(document, separators=(",", ":")) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=fixtures.REPOSITORY / "demo", help="folder to write")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=5)
    arguments = parser.parse_args()

    fixtures.seed_all(arguments.seed)
    digits = load_digits()
    split = train_test_split(digits.images.astype(np.float32)[:, None] / 16, digits.target, test_size=0.25, stratify=digits.target, random_state=arguments.seed)
    images, test_images, labels, test_labels = map(torch.from_numpy, split)
    rng = np.random.default_rng(arguments.seed)
    strokes, stroke_labels = map(torch.from_numpy, digit_strokes.draw_many(12000, rng))
    test_strokes, test_stroke_labels = map(torch.from_numpy, digit_strokes.draw_many(1000, rng))

    net = DigitNet()
    train(net, images, labels, strokes, stroke_labels, arguments.epochs, arguments.seed)
    accuracies = {"test_accuracy": accuracy(net, plain(test_images), test_labels), "stroke_accuracy": accuracy(net, test_strokes, test_stroke_labels)}
    model = fixtures.export_torch(net, (plain(test_images[:2]),), ["image"], ["probabilities"], {"image": {0: "batch"}, "probabilities": {0: "batch"}})
    describe(model, accuracies)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "digits.onnx").write_bytes(model.SerializeToString(deterministic=True))
    write_samples(arguments.out / "digits-samples.json", net, plain(test_images), test_labels)
    size = (arguments.out / "digits.onnx").stat().st_size
    print(f"digits.onnx: {size} bytes, {', '.join(f'{k} {v:.2%}' for k, v in accuracies.items())}")
    if accuracies["test_accuracy"] < 0.97 or size > 100_000:
        raise SystemExit("the classifier misses its mark: 97 % on held-out digits, 100,000 bytes")


if __name__ == "__main__":
    main()
