"""Digits as pen strokes: an endless supply of images like those a person draws on a page.

Each template is a list of strokes, each stroke a list of points in a box of width and height 1 (y goes down). Points are
jittered, joined by a Catmull-Rom spline, put through a random affine map and drawn with a round pen of random width.
"""

import numpy as np

SIZE = 28

TEMPLATES = {
    0: [[[(.5, 0), (.15, .2), (.05, .5), (.2, .85), (.5, 1), (.8, .85), (.95, .5), (.85, .2), (.5, 0)]],
        [[(.6, 0), (.3, .1), (.2, .5), (.3, .9), (.5, 1), (.7, .9), (.8, .5), (.7, .1), (.45, .02)]]],
    1: [[[(.5, 0), (.5, .5), (.5, 1)]],
        [[(.25, .25), (.55, 0)], [(.55, 0), (.55, .5), (.55, 1)]],
        [[(.25, .22), (.55, 0)], [(.55, 0), (.55, 1)], [(.25, 1), (.85, 1)]],
        [[(.6, 0), (.5, .5), (.4, 1)]]],
    2: [[[(.1, .25), (.3, .03), (.65, 0), (.88, .2), (.75, .5), (.4, .78), (.08, 1)], [(.08, 1), (.5, 1), (.95, 1)]],
        [[(.1, .2), (.45, 0), (.85, .2), (.7, .55), (.2, .95), (.1, .8), (.4, .85), (.9, 1)]]],
    3: [[[(.1, .12), (.45, 0), (.8, .15), (.75, .38), (.4, .48)], [(.4, .48), (.8, .58), (.9, .8), (.55, 1), (.08, .88)]],
        [[(.1, 0), (.5, 0), (.9, 0)], [(.9, 0), (.45, .42)], [(.45, .42), (.85, .55), (.88, .82), (.5, 1), (.1, .9)]]],
    4: [[[(.35, 0), (.2, .3), (.08, .62)], [(.08, .62), (.5, .6), (.95, .6)], [(.68, .2), (.65, .6), (.62, 1)]],
        [[(.7, 0), (.4, .3), (.05, .68)], [(.05, .68), (.95, .68)], [(.7, 0), (.7, 1)]],
        [[(.15, 0), (.12, .25), (.15, .5)], [(.15, .5), (.8, .48)], [(.8, 0), (.8, .5), (.78, 1)]]],
    5: [[[(.85, 0), (.2, 0)], [(.2, 0), (.17, .22), (.13, .45)],
         [(.13, .45), (.5, .38), (.88, .55), (.85, .85), (.5, 1), (.08, .9)]],
        [[(.9, .02), (.3, 0), (.2, .4), (.55, .42), (.85, .62), (.7, .93), (.3, 1), (.1, .9)]]],
    6: [[[(.75, .02), (.4, .2), (.15, .55), (.15, .85), (.5, 1), (.85, .85), (.8, .6), (.5, .5), (.15, .7)]],
        [[(.6, 0), (.3, .3), (.15, .7), (.35, 1), (.75, .95), (.85, .7), (.6, .52), (.2, .68)]]],
    7: [[[(.05, 0), (.5, 0), (.95, 0)], [(.95, 0), (.65, .4), (.4, 1)]],
        [[(.1, .02), (.9, 0)], [(.9, 0), (.6, .5), (.35, 1)], [(.3, .5), (.85, .48)]],
        [[(.08, .18), (.08, .02)], [(.08, .02), (.9, .02)], [(.9, .02), (.6, .45), (.5, 1)]]],
    8: [[[(.75, .1), (.4, 0), (.15, .2), (.4, .45), (.8, .7), (.7, .95), (.35, 1), (.12, .78), (.4, .52), (.8, .28),
          (.75, .1)]],
        [[(.5, 0), (.2, .15), (.3, .42), (.5, .47), (.75, .35), (.75, .1), (.5, 0)],
         [(.5, .47), (.12, .65), (.2, .95), (.5, 1), (.82, .92), (.88, .65), (.5, .47)]]],
    9: [[[(.85, .25), (.6, .02), (.25, .1), (.15, .35), (.4, .52), (.75, .4), (.85, .25)],
         [(.85, .25), (.83, .6), (.78, 1)]],
        [[(.85, .2), (.5, 0), (.15, .2), (.25, .48), (.6, .5), (.85, .25)], [(.85, .25), (.8, .65), (.55, .95), (.2, .98)]]],
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
            curve.append(.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t ** 2
                               + (3 * b - a - 3 * c + d) * t ** 3))
    return np.vstack(curve + [points[-1]])


def _random_affine(rng):
    """A map of the unit box into the image: rotation, shear, size, aspect and place."""
    angle, shear = rng.normal(0, .12), rng.normal(0, .15)
    height = rng.uniform(15, 22)
    width = height * rng.uniform(.5, 1.0)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    matrix = turn @ np.array([[width, -shear * height], [0, height]])
    return matrix, SIZE / 2 - .5 + rng.normal(0, .8, 2)


def draw(digit, rng):
    """One image [28, 28] in [0, 1]: ink is 1."""
    template = TEMPLATES[digit][rng.integers(len(TEMPLATES[digit]))]
    matrix, centre = _random_affine(rng)
    pen = rng.uniform(.8, 2.2)
    y, x = np.mgrid[0:SIZE, 0:SIZE]
    pixels = np.stack([x, y], -1).reshape(-1, 1, 2)
    nearest = np.full(SIZE * SIZE, np.inf)
    for stroke in template:
        points = np.asarray(stroke) + rng.normal(0, .035, (len(stroke), 2))
        line = (_spline(points) - .5) @ matrix.T + centre
        start, step = line[:-1], np.diff(line, axis=0)
        along = ((pixels - start) * step).sum(-1) / np.maximum((step ** 2).sum(-1), 1e-9)
        foot = start + np.clip(along, 0, 1)[..., None] * step
        nearest = np.minimum(nearest, np.sqrt(((pixels - foot) ** 2).sum(-1)).min(-1))
    return np.clip(pen + .5 - nearest, 0, 1).reshape(SIZE, SIZE).astype(np.float32)


def draw_many(count, rng):
    """`count` images [count, 1, 28, 28] and their labels, all digits alike often."""
    labels = np.arange(count) % 10
    return np.stack([draw(label, rng) for label in labels])[:, None], labels
