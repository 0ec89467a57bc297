"""Text: strings through operators that move them, and the operators that split, join, normalise and match them."""

import numpy as np

from letter_case import lower, upper


def text(suite):
    words = np.array(["Straße", "ÄPFEL", "", "a b", "naïve"], object)
    suite.case("text_equal", "Equal", [words, np.array(["a b"], object)], opset=19, expected=lambda a, b: a == b)
    suite.case("text_gather", "Gather", [words, np.array([[4, -5]])], opset=13, expected=lambda x, i: x[i])
    suite.case(
        "text_where", "Where", [np.array([True, False, True, False, True]), words, np.array("?", object)], opset=16, expected=lambda c, a, b: np.where(c, a, b)
    )
    suite.case("text_concat", "Concat", [words, words[:1]], {"axis": 0}, opset=13)
    suite.case("text_reshape", "Reshape", [words, np.array([-1, 1])], opset=14)
    suite.case("text_transpose", "Transpose", [words[:4].reshape(2, 2)], opset=13)
    suite.case("text_slice", "Slice", [words, np.array([-1]), np.array([-9]), np.array([0]), np.array([-2])], opset=13)
    suite.case("text_tile", "Tile", [words, np.array([2])], opset=13, expected=lambda x, r: np.tile(x, 2))
    suite.case("text_expand", "Expand", [words[:1], np.array([2, 2])], opset=13)
    suite.case("text_unique", "Unique", [np.array(["b", "a", "b", ""], object)], opset=11, outputs=4)
    suite.case(
        "text_stringnormalizer_stopwords",
        "StringNormalizer",
        [np.array(["The", "cat", "THE", "Hat"], object)],
        {"case_change_action": "LOWER", "is_case_sensitive": 0, "stopwords": ["the"]},
        opset=10,
        expected=np.array(["cat", "hat"], object),
    )
    suite.case(
        "text_stringnormalizer_all_removed",
        "StringNormalizer",
        [np.array([["a", "b"]], object)],
        {"is_case_sensitive": 1, "stopwords": ["a", "b"]},
        opset=10,
        expected=np.array([[""]], object),
    )
    suite.case(
        "text_stringnormalizer_2d",
        "StringNormalizer",
        [np.array([["ab", "Cd", "ab"]], object)],
        {"case_change_action": "UPPER", "is_case_sensitive": 1, "stopwords": ["ab"]},
        opset=10,
        expected=np.array([["CD"]], object),
    )
    letters = ["straße ÄÖÜ", "Ωμέγα ΑΣ", "Привет МИР", "ǅ Ǆ ǆ", "ﬀ ŉ ǰ", "Ⓐⓑ Ⅷⅷ", "Ꭰꭰ Ᏸᏸ", "Ａｂ", "𐐀𐐨 𞤀𞤢", "ſ K Å İı", "Ⴀⴀ Აა", "ᾀᾈ ῳ"]
    for change in ("LOWER", "UPPER"):
        suite.case(
            f"text_stringnormalizer_letters_{change.lower()}",
            "StringNormalizer",
            [np.array(letters, object)],
            {"case_change_action": change},
            opset=10,
            expected=lambda x, c=change: np.array(["".join(chr((lower if c == "LOWER" else upper)(ord(letter))) for letter in word) for word in x], object),
            differs={"reference": "takes the full mappings, of one letter to several"},
        )
    suite.case("text_stringsplit_limit", "StringSplit", [np.array(["a-b-c", "-x-", "y"], object)], {"delimiter": "-", "maxsplit": 1}, opset=20, outputs=2)
    suite.case("text_stringsplit_spaces", "StringSplit", [np.array([["  one   two ", "three"]], object)], opset=20, outputs=2)
    suite.case(
        "text_stringconcat_broadcast",
        "StringConcat",
        [np.array([["a"], ["ß"]], object), np.array(["x", "y", ""], object)],
        opset=20,
        expected=lambda a, b: a + b,
    )
    suite.case(
        "text_regexfullmatch_classes",
        "RegexFullMatch",
        [np.array(["2024-01-31", "24-1-1", "", "2024-01-31x"], object)],
        {"pattern": r"\d{4}-[01]\d-\d\d"},
        opset=20,
        expected=np.array([True, False, False, False]),
    )
    suite.case(
        "text_regexfullmatch_alternation",
        "RegexFullMatch",
        [np.array(["cat", "category", "CAT", "dog\n"], object)],
        {"pattern": "(?i)cat|dog"},
        opset=20,
        expected=np.array([True, False, True, False]),
    )
    suite.case(
        "text_tfidfvectorizer_words",
        "TfIdfVectorizer",
        [np.array([["a", "b", "a", "c"], ["b", "b", "a", "z"]], object)],
        {
            "mode": "TFIDF",
            "min_gram_length": 1,
            "max_gram_length": 2,
            "max_skip_count": 0,
            "ngram_counts": [0, 3],
            "ngram_indexes": [0, 1, 2, 3, 4],
            "pool_strings": ["a", "b", "c", "a", "b", "b", "a"],
            "weights": [0.5, 1.0, 2.0, 3.0, 4.0],
        },
        opset=9,
    )
    suite.case(
        "text_tfidfvectorizer_skips",
        "TfIdfVectorizer",
        [np.array([1, 5, 2, 5, 3], np.int32)],
        {
            "mode": "TF",
            "min_gram_length": 2,
            "max_gram_length": 2,
            "max_skip_count": 3,
            "ngram_counts": [0, 0],
            "ngram_indexes": [2, 0, 1],
            "pool_int64s": [1, 2, 5, 5, 1, 3],
        },
        opset=9,
    )


GROUPS = [text]
