"""Write src/ops/letter_case_rows.inc: Unicode's simple case mappings as runs of letters that move by one distance."""

import argparse
import pathlib

import fixtures

BOTH, LOWER, UPPER = "BOTH_WAYS", "TO_LOWER", "TO_UPPER"
# Python knows the full mappings; where one is several characters, the simple one is the title case or the one named here.
SIMPLE_LOWER = {0x130: 0x69}


def lower(code):
    text = chr(code).lower()
    return ord(text) if len(text) == 1 else SIMPLE_LOWER.get(code, code)


def upper(code):
    for text in (chr(code).upper(), chr(code).title()):
        if len(text) == 1:
            return ord(text)
    return code


def pairs():
    """(capital, distance to the small letter, ways), in the order of capitals."""
    found = []
    for code in range(0x110000):
        if 0xD800 <= code < 0xE000:
            continue
        small = lower(code)
        if small != code:
            found.append((code, small - code, BOTH if upper(small) == code else LOWER))
        capital = upper(code)
        if capital != code and lower(capital) != code:
            found.append((capital, code - capital, UPPER))
    return sorted(found, key=lambda pair: (pair[2], pair[0]))


def runs():
    """[first, count, step, distance, ways] of letters that lie side by side, or every second."""
    found = []
    for first, distance, ways in pairs():
        if found and found[-1][3:] == [distance, ways]:
            start, count, step = found[-1][:3]
            if (count == 1 and first - start in (1, 2)) or (count > 1 and first == start + count * step):
                found[-1][1:3] = [count + 1, first - start if count == 1 else step]
                continue
        found.append([first, 1, 1, distance, ways])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=fixtures.REPOSITORY / "src" / "ops" / "letter_case_rows.inc")
    rows = [f"    {{0x{first:x}, {count}, {step}, {distance}, {ways}}}," for first, count, step, distance, ways in runs()]
    head = [
        "/* Unicode's simple case mappings, written by tools/python/letter_case.py: capital letters `first`, `first + step`, ..., and how",
        " * far their small letters are. */",
    ]
    parser.parse_args().out.write_text("\n".join([*head, *rows]) + "\n")


if __name__ == "__main__":
    main()
