"""Compare linnet with native ONNX Runtime on random one-node models, and shrink what differs.

Draws operators, versions, types, ranks, attributes and shapes (no elements, broadcasting, values at the edges), writes each as a case
with ONNX Runtime's outputs as expected values, and lets a command run the folder. What fails is made smaller as long as it
fails in the same way, and kept. A case depends on the seed and its index alone.

    python tools/python/differential.py --count 500 --seed 1 --out FOLDER          only draw and write
    python tools/python/differential.py --count 500 --seed 1 --out FOLDER --run    draw, run, shrink
"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import warnings

import numpy as np

import cases_core
import draw_core
import draw_graphs
import draw_more_operators
import draw_moving  # noqa: F401  (registers its operators)
import draw_operators
import fixtures

COMMAND = "node tests/conformance/folder.mjs {dir} --json {json} --quiet"
ROUNDS = 12
OLDEST, NEWEST = 7, 28
GRAPH, GRAPH_SHARE = "graph", 0.25


def draw(seed, index, only=None, newest=NEWEST):
    """The index-th draw of a seed: (name, Drawn), or None for a draw that came to nothing."""
    d = draw_core.Draw([seed, index])
    if only == [GRAPH] or not only and d.chance(GRAPH_SHARE):
        grown = draw_graphs.draw_graph(d)
        return grown and (f"{index:05d}_graph", grown)
    names = sorted(only or draw_operators.OPERATORS)
    op = d.pick(names)
    function, first = draw_operators.OPERATORS[op]
    domain = draw_more_operators.OPSET_DOMAINS.get(op, "")
    if domain:
        return _draw_other(d, index, op, domain, function)
    known = [v for v in draw_core.versions(op) if first <= v <= newest]
    if not known:
        return None
    version = d.pick(known)
    later = [v for v in draw_core.versions(op) if v > version]
    last = min(later[0] - 1 if later else newest, newest)
    drawn = function(d, version, op)
    if drawn is None:
        return None
    drawn.opset = d.integer(min(max(version, OLDEST), last), last)
    return f"{index:05d}_{op.lower()}_v{drawn.opset}", drawn


def _draw_other(d, index, op, domain, function):
    """A draw from another domain, whose versions count for themselves."""
    version = d.pick(draw_core.versions(op, domain) or [1])
    drawn = function(d, version, op)
    if drawn is None:
        return None
    drawn.domain, drawn.version = domain, version
    return f"{index:05d}_{op.lower()}_{domain.split('.')[-1]}_v{version}", drawn


def solved(drawn, name):
    """The case with its expected values, or None where ONNX Runtime refuses the model."""
    try:
        with np.errstate(all="ignore"):
            return draw_core.solve(drawn, name)
    except Exception:
        return None


def _draw_and_solve(seed, index, only, newest):
    drawn = draw(seed, index, only, newest)
    case = drawn and solved(drawn[1], drawn[0])
    return (drawn[0], drawn[1], _answers(case)) if case else None


def _answers(case):
    return case.outputs, case.more, case.atol


def _rebuild(drawn, name, answers):
    """The case again, on this side of the process boundary."""
    case = drawn.build(name)
    case.outputs, case.more, case.atol = answers
    case.source, case.check = "onnxruntime", False
    return case


class Solver:
    """Runs ONNX Runtime in a process of its own, which may die of a model."""

    def __init__(self):
        self.pool = None
        self.deaths = 0

    def call(self, function, *arguments):
        self.pool = self.pool or concurrent.futures.ProcessPoolExecutor(1)
        try:
            return self.pool.submit(function, *arguments).result(60)
        except (concurrent.futures.process.BrokenProcessPool, concurrent.futures.TimeoutError):
            self.deaths += 1
            self.pool.shutdown(wait=False, cancel_futures=True)
            self.pool = None
            return None

    def close(self):
        if self.pool:
            self.pool.shutdown()


def write(out, cases):
    """A folder of cases and its table of tolerances."""
    cases_core.clear(out)
    lines = ["case\tatol\trtol\tsource\tagreed\tnote"]
    for case in cases:
        case.write(out)
        lines.append(case.line())
    (out / "cases.tsv").write_text("\n".join(lines) + "\n")


def _bytes(case, out):
    """What a case takes as files."""
    case.write(out)
    return sum(file.stat().st_size for file in (out / case.name).rglob("*") if file.is_file())


def generate(out, count, seed, only, newest, largest=0):
    """Draw `count` cases that ONNX Runtime answers, and drop those of more bytes than `largest`; returns {name: Drawn}."""
    solver, chosen, cases, index = Solver(), {}, [], 0
    while len(chosen) < count and index < 20 * count:
        answer = solver.call(_draw_and_solve, seed, index, only, newest)
        index += 1
        if answer is None:
            continue
        name, drawn, answers = answer
        chosen[name] = drawn
        cases.append(_rebuild(drawn, name, answers))
        if sys.stderr.isatty():
            print(f"\r{len(chosen)} of {count} drawn", end="", file=sys.stderr)
    solver.close()
    refused = index - len(chosen)
    cases = [case for case in cases if not largest or _bytes(case, out) <= largest]
    chosen = {case.name: chosen[case.name] for case in cases}
    write(out, cases)
    print(f"{len(chosen)} cases in {out.name}, {refused} draws refused, ONNX Runtime died {solver.deaths} times")
    return chosen


def run(command, folder):
    """Run the command over a folder; {case: reason} of what failed."""
    with tempfile.TemporaryDirectory() as scratch:
        report = pathlib.Path(scratch) / "report.json"
        words = [word.format(dir=folder, json=report) for word in shlex.split(command)]
        subprocess.run(words, cwd=fixtures.REPOSITORY, stdout=subprocess.DEVNULL, check=False)
        if not report.exists():
            sys.exit(f"{words[0]} wrote no report")
        failures = {failure["case"]: failure["reason"] for failure in json.loads(report.read_text())["failures"]}
    for reason in failures.values():
        if reason.startswith("LOAD_FAILED"):
            sys.exit(f"linnet does not start: {reason}")
    return failures


def kind_of(reason):
    """Failures of one kind shrink together: a code, or a wrong result by its first words."""
    return reason.split(":")[0] + (":shape" if "expected dims" in reason else "")


def shrink(command, name, drawn, reason, scratch):
    """The smallest case found that fails like the given one, and its reason."""
    solver = Solver()
    for _ in range(ROUNDS):
        cases, candidates = [], {}
        for number, candidate in enumerate(drawn.smaller()):
            if candidate.size() >= drawn.size():
                continue
            label = f"{name}_{number}"
            case = solver.call(_solve_only, candidate, label)
            if case is None:
                continue
            cases.append(_rebuild(candidate, label, case))
            candidates[label] = candidate
        if not cases:
            break
        write(scratch, cases)
        failed = {label: why for label, why in run(command, scratch).items() if kind_of(why) == kind_of(reason)}
        if not failed:
            break
        best = min(failed, key=lambda label: candidates[label].size())
        drawn, reason = candidates[best], failed[best]
    solver.close()
    return drawn, reason


def _solve_only(drawn, name):
    case = solved(drawn, name)
    return case and _answers(case)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the cases; it is emptied first")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ops", help=f"only these operators, by comma; '{GRAPH}' for graphs of several nodes")
    parser.add_argument("--newest", type=int, default=NEWEST, help="no opset above this one")
    parser.add_argument("--largest", type=int, default=0, metavar="BYTES", help="drop cases whose files take more")
    parser.add_argument("--run", nargs="?", const=COMMAND, metavar="COMMAND", help=f"run the folder and shrink what fails; default '{COMMAND}'")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the shrunk cases; default OUT-shrunk")
    parser.add_argument("--each", type=int, default=2, help="shrink at most this many per operator and kind of failure")
    parser.add_argument("--unsupported", action="store_true", help="shrink operators that are not supported, too")
    arguments = parser.parse_args()

    warnings.simplefilter("ignore")
    only = arguments.ops.split(",") if arguments.ops else None
    out = arguments.out.resolve()
    chosen = generate(out, arguments.count, arguments.seed, only, arguments.newest, arguments.largest)
    if not arguments.run:
        return
    failures = run(arguments.run, out)
    missing = {name: why for name, why in failures.items() if "UNSUPPORTED" in why and not arguments.unsupported}
    wrong = {name: why for name, why in failures.items() if name not in missing}
    print(f"{len(chosen) - len(failures)} agree, {len(wrong)} differ, {len(missing)} not supported")
    for op, count in collections.Counter(chosen[name].op for name in missing).most_common():
        print(f"  not supported: {op} ({count})")
    keep = (arguments.keep or out.with_name(out.name + "-shrunk")).resolve()
    kept, seen = [], collections.Counter()
    for name, reason in wrong.items():
        seen[chosen[name].op, kind_of(reason)] += 1
        if seen[chosen[name].op, kind_of(reason)] > arguments.each:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            drawn, reason = shrink(arguments.run, name, chosen[name], reason, pathlib.Path(scratch) / "cases")
        case = solved(drawn, name)
        if case:
            kept.append(case)
        print(f"  {name}: {drawn.describe()}\n    {reason}", flush=True)
    if kept:
        write(keep, kept)
    elif keep.exists():
        shutil.rmtree(keep)
    print(f"{len(chosen) - len(failures)} passed, {len(wrong)} failed, {len(missing)} skipped")
    if wrong:
        sys.exit(1)


if __name__ == "__main__":
    main()
