"""Digits as pen strokes: an endless supply of images like those a person draws on a page.

Each template is a list of strokes, each stroke a list of points in a box of width and height 1 (y goes down). Points are
jittered, joined by a Catmull-Rom spline, put through a random affine map and drawn with a round pen of random width.
"""

import numpy as np

SIZE = 28

TEMPLATES = {
    0: [
        [[(0.5, 0), (0.15, 0.2), (0.05, 0.5), (0.2, 0.85), (0.5, 1), (0.8, 0.85), (0.95, 0.5), (0.85, 0.2), (0.5, 0)]],
        [[(0.6, 0), (0.3, 0.1), (0.2, 0.5), (0.3, 0.9), (0.5, 1), (0.7, 0.9), (0.8, 0.5), (0.7, 0.1), (0.45, 0.02)]],
    ],
    1: [
        [[(0.5, 0), (0.5, 0.5), (0.5, 1)]],
        [[(0.25, 0.25), (0.55, 0)], [(0.55, 0), (0.55, 0.5), (0.55, 1)]],
        [[(0.25, 0.22), (0.55, 0)], [(0.55, 0), (0.55, 1)], [(0.25, 1), (0.85, 1)]],
        [[(0.6, 0), (0.5, 0.5), (0.4, 1)]],
    ],
    2: [
        [[(0.1, 0.25), (0.3, 0.03), (0.65, 0), (0.88, 0.2), (0.75, 0.5), (0.4, 0.78), (0.08, 1)], [(0.08, 1), (0.5, 1), (0.95, 1)]],
        [[(0.1, 0.2), (0.45, 0), (0.85, 0.2), (0.7, 0.55), (0.2, 0.95), (0.1, 0.8), (0.4, 0.85), (0.9, 1)]],
    ],
    3: [
        [[(0.1, 0.12), (0.45, 0), (0.8, 0.15), (0.75, 0.38), (0.4, 0.48)], [(0.4, 0.48), (0.8, 0.58), (0.9, 0.8), (0.55, 1), (0.08, 0.88)]],
        [[(0.1, 0), (0.5, 0), (0.9, 0)], [(0.9, 0), (0.45, 0.42)], [(0.45, 0.42), (0.85, 0.55), (0.88, 0.82), (0.5, 1), (0.1, 0.9)]],
    ],
    4: [
        [[(0.35, 0), (0.2, 0.3), (0.08, 0.62)], [(0.08, 0.62), (0.5, 0.6), (0.95, 0.6)], [(0.68, 0.2), (0.65, 0.6), (0.62, 1)]],
        [[(0.7, 0), (0.4, 0.3), (0.05, 0.68)], [(0.05, 0.68), (0.95, 0.68)], [(0.7, 0), (0.7, 1)]],
        [[(0.15, 0), (0.12, 0.25), (0.15, 0.5)], [(0.15, 0.5), (0.8, 0.48)], [(0.8, 0), (0.8, 0.5), (0.78, 1)]],
    ],
    5: [
        [[(0.85, 0), (0.2, 0)], [(0.2, 0), (0.17, 0.22), (0.13, 0.45)], [(0.13, 0.45), (0.5, 0.38), (0.88, 0.55), (0.85, 0.85), (0.5, 1), (0.08, 0.9)]],
        [[(0.9, 0.02), (0.3, 0), (0.2, 0.4), (0.55, 0.42), (0.85, 0.62), (0.7, 0.93), (0.3, 1), (0.1, 0.9)]],
    ],
    6: [
        [[(0.75, 0.02), (0.4, 0.2), (0.15, 0.55), (0.15, 0.85), (0.5, 1), (0.85, 0.85), (0.8, 0.6), (0.5, 0.5), (0.15, 0.7)]],
        [[(0.6, 0), (0.3, 0.3), (0.15, 0.7), (0.35, 1), (0.75, 0.95), (0.85, 0.7), (0.6, 0.52), (0.2, 0.68)]],
    ],
    7: [
        [[(0.05, 0), (0.5, 0), (0.95, 0)], [(0.95, 0), (0.65, 0.4), (0.4, 1)]],
        [[(0.1, 0.02), (0.9, 0)], [(0.9, 0), (0.6, 0.5), (0.35, 1)], [(0.3, 0.5), (0.85, 0.48)]],
        [[(0.08, 0.18), (0.08, 0.02)], [(0.08, 0.02), (0.9, 0.02)], [(0.9, 0.02), (0.6, 0.45), (0.5, 1)]],
    ],
    8: [
        [[(0.75, 0.1), (0.4, 0), (0.15, 0.2), (0.4, 0.45), (0.8, 0.7), (0.7, 0.95), (0.35, 1), (0.12, 0.78), (0.4, 0.52), (0.8, 0.28), (0.75, 0.1)]],
        [
            [(0.5, 0), (0.2, 0.15), (0.3, 0.42), (0.5, 0.47), (0.75, 0.35), (0.75, 0.1), (0.5, 0)],
            [(0.5, 0.47), (0.12, 0.65), (0.2, 0.95), (0.5, 1), (0.82, 0.92), (0.88, 0.65), (0.5, 0.47)],
        ],
    ],
    9: [
        [[(0.85, 0.25), (0.6, 0.02), (0.25, 0.1), (0.15, 0.35), (0.4, 0.52), (0.75, 0.4), (0.85, 0.25)], [(0.85, 0.25), (0.83, 0.6), (0.78, 1)]],
        [[(0.85, 0.2), (0.5, 0), (0.15, 0.2), (0.25, 0.48), (0.6, 0.5), (0.85, 0.25)], [(0.85, 0.25), (0.8, 0.65), (0.55, 0.95), (0.2, 0.98)]],
    ],
}


def _spline(points, steps=6):
    """Points on the Catmull-Rom spline through `points`; two points give a straight line."""
    points = np.asarray(points, np.float64)
    if len(points) < 3:
        return points
    padded = np.vstack([2 * points[0] - points[1], points, 2 * points[-1] - points[-2]])
    curve = []
    for a, b, c, d in zip(padded, padded[1:], padded[2:], padded[3:]):
        for t in np.arange(steps) / steps:
            curve.append(0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3))
    return np.vstack(curve + [points[-1]])


def _random_affine(rng):
    """A map of the unit box into the image: rotation, shear, size, aspect and place."""
    angle, shear = rng.normal(0, 0.12), rng.normal(0, 0.15)
    height = rng.uniform(15, 22)
    width = height * rng.uniform(0.5, 1.0)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    matrix = turn @ np.array([[width, -shear * height], [0, height]])
    return matrix, SIZE / 2 - 0.5 + rng.normal(0, 0.8, 2)


def draw(digit, rng):
    """One image [28, 28] in [0, 1]: ink is 1."""
    template = TEMPLATES[digit][rng.integers(len(TEMPLATES[digit]))]
    matrix, centre = _random_affine(rng)
    pen = rng.uniform(0.8, 2.2)
    y, x = np.mgrid[0:SIZE, 0:SIZE]
    pixels = np.stack([x, y], -1).reshape(-1, 1, 2)
    nearest = np.full(SIZE * SIZE, np.inf)
    for stroke in template:
        points = np.asarray(stroke) + rng.normal(0, 0.035, (len(stroke), 2))
        line = (_spline(points) - 0.5) @ matrix.T + centre
        start, step = line[:-1], np.diff(line, axis=0)
        along = ((pixels - start) * step).sum(-1) / np.maximum((step**2).sum(-1), 1e-9)
        foot = start + np.clip(along, 0, 1)[..., None] * step
        nearest = np.minimum(nearest, np.sqrt(((pixels - foot) ** 2).sum(-1)).min(-1))
    return np.clip(pen + 0.5 - nearest, 0, 1).reshape(SIZE, SIZE).astype(np.float32)


def draw_many(count, rng):
    """`count` images [count, 1, 28, 28] and their labels, all digits alike often."""
    labels = np.arange(count) % 10
    return np.stack([draw(label, rng) for label in labels])[:, None], labels
