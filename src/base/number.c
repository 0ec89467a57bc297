/* Floating-point numbers to text and back, exactly.
 *
 * Both directions work on integers of arbitrary size. Printing is the free-format algorithm of Steele and
 * White: the value is a fraction r/s, the half distances to its neighbours are m_plus/s and m_minus/s, and
 * digits are produced until the rest is closer than a neighbour. Reading scales digits * 10^exponent to a
 * quotient of 64 bits by long division and rounds once. Neither is fast, both are small and right, and
 * neither runs in a kernel.
 */
#include <string.h>

#include "base/text.h"

/* 128 words hold 781 digits over 10^343 and every double as a fraction. */
enum { BIG_WORDS = 132, MAX_DIGITS = 781 };

typedef struct big {
    int length; /* words in use; the highest one is not zero */
    uint32_t words[BIG_WORDS];
} big;

static void big_set(big *x, uint64_t value) {
    x->length = 0;
    while (value > 0) {
        x->words[x->length++] = (uint32_t)value;
        value >>= 32;
    }
}

/* x = x * factor + carry */
static void big_scale(big *x, uint32_t factor, uint32_t carry) {
    uint64_t rest = carry;
    for (int i = 0; i < x->length; i++) {
        rest += (uint64_t)x->words[i] * factor;
        x->words[i] = (uint32_t)rest;
        rest >>= 32;
    }
    if (rest > 0 && x->length < BIG_WORDS) {
        x->words[x->length++] = (uint32_t)rest;
    }
}

static void big_scale10(big *x, int power) {
    for (; power >= 9; power -= 9) {
        big_scale(x, 1000000000, 0);
    }
    for (; power > 0; power--) {
        big_scale(x, 10, 0);
    }
}

static void big_shift(big *x, int bits) {
    const int words = bits / 32;
    if (x->length == 0 || x->length + words > BIG_WORDS) {
        return;
    }
    memmove(x->words + words, x->words, (size_t)x->length * sizeof(x->words[0]));
    memset(x->words, 0, (size_t)words * sizeof(x->words[0]));
    x->length += words;
    big_scale(x, UINT32_C(1) << (bits % 32), 0);
}

static int big_compare(const big *a, const big *b) {
    if (a->length != b->length) {
        return a->length < b->length ? -1 : 1;
    }
    for (int i = a->length - 1; i >= 0; i--) {
        if (a->words[i] != b->words[i]) {
            return a->words[i] < b->words[i] ? -1 : 1;
        }
    }
    return 0;
}

static void big_add(big *a, const big *b) {
    uint64_t carry = 0;
    const int length = a->length > b->length ? a->length : b->length;
    for (int i = 0; i < length; i++) {
        carry += (uint64_t)(i < a->length ? a->words[i] : 0) + (i < b->length ? b->words[i] : 0);
        a->words[i] = (uint32_t)carry;
        carry >>= 32;
    }
    a->length = length;
    if (carry > 0 && length < BIG_WORDS) {
        a->words[a->length++] = (uint32_t)carry;
    }
}

/* a -= b, where a >= b */
static void big_subtract(big *a, const big *b) {
    int64_t borrow = 0;
    for (int i = 0; i < a->length; i++) {
        borrow += (int64_t)a->words[i] - (i < b->length ? b->words[i] : 0);
        a->words[i] = (uint32_t)borrow;
        borrow = borrow < 0 ? -1 : 0;
    }
    while (a->length > 0 && a->words[a->length - 1] == 0) {
        a->length--;
    }
}

static int big_bits(const big *x) {
    return x->length == 0 ? 0 : x->length * 32 - __builtin_clz(x->words[x->length - 1]);
}

/* Compares a + b with c. */
static int big_compare_sum(const big *a, const big *b, const big *c) {
    big sum = *a;
    big_add(&sum, b);
    return big_compare(&sum, c);
}

/* The shortest digits of mantissa * 2^exponent (mantissa > 0) that lie within half a unit of the last
 * place; `lowest` says that the neighbour below is half as far. Returns their count; `point` gets
 * the power of ten that 0.DIGITS is to be multiplied with. */
static int shortest_digits(uint64_t mantissa, int exponent, bool lowest, char *digits, int *point) {
    big r;
    big s;
    big m_plus;
    big m_minus;
    big_set(&r, mantissa);
    big_set(&s, 1);
    big_set(&m_plus, 1);
    big_set(&m_minus, 1);
    big_shift(&r, (exponent > 0 ? exponent : 0) + (lowest ? 2 : 1));
    big_shift(&s, (exponent < 0 ? -exponent : 0) + (lowest ? 2 : 1));
    big_shift(&m_plus, (exponent > 0 ? exponent : 0) + (lowest ? 1 : 0));
    big_shift(&m_minus, exponent > 0 ? exponent : 0);
    const bool even = (mantissa & 1) == 0;

    /* A lower bound of log10(value), then corrected. */
    const int bits = exponent + 64 - __builtin_clzll(mantissa);
    int k = (bits * 30103 - 160000) / 100000;
    big_scale10(&s, k > 0 ? k : 0);
    big_scale10(&r, k < 0 ? -k : 0);
    big_scale10(&m_plus, k < 0 ? -k : 0);
    big_scale10(&m_minus, k < 0 ? -k : 0);
    while (big_compare_sum(&r, &m_plus, &s) >= (even ? 0 : 1)) {
        big_scale(&s, 10, 0);
        k++;
    }
    *point = k;
    for (int count = 0;;) {
        big_scale(&r, 10, 0);
        big_scale(&m_plus, 10, 0);
        big_scale(&m_minus, 10, 0);
        int digit = 0;
        while (big_compare(&r, &s) >= 0) {
            big_subtract(&r, &s);
            digit++;
        }
        const bool low = big_compare(&r, &m_minus) < (even ? 1 : 0);
        const bool high = big_compare_sum(&r, &m_plus, &s) > (even ? -1 : 0);
        if (low || high) {
            big twice = r;
            big_add(&twice, &r);
            const bool up = high && (!low || big_compare(&twice, &s) >= 0);
            digits[count++] = (char)('0' + digit + (up ? 1 : 0));
            return count;
        }
        digits[count++] = (char)('0' + digit);
    }
}

static size_t put(char *buffer, size_t bytes, const char *text, size_t length) {
    const size_t taken = bytes == 0 ? 0 : length < bytes - 1 ? length : bytes - 1;
    if (bytes > 0) {
        memcpy(buffer, text, taken);
        buffer[taken] = '\0';
    }
    return taken;
}

/* Lays digits out as JavaScript does: plain between 1e-6 and 1e21, with an exponent elsewhere. */
static size_t lay_out(char *text, const char *digits, int count, int point) {
    size_t at = 0;
    if (point > 21 || point < -5) {
        text[at++] = digits[0];
        if (count > 1) {
            text[at++] = '.';
            memcpy(text + at, digits + 1, (size_t)(count - 1));
            at += (size_t)(count - 1);
        }
        return at + ln_format(text + at, 8, point > 0 ? "e+%d" : "e%d", point - 1);
    }
    if (point <= 0) {
        memcpy(text, "0.00000", (size_t)(2 - point));
        memcpy(text + 2 - point, digits, (size_t)count);
        return (size_t)(2 - point + count);
    }
    for (int i = 0; i < point || i < count; i++) {
        if (i == point) {
            text[at++] = '.';
        }
        text[at++] = i < count ? digits[i] : '0';
    }
    return at;
}

/* Integers below 2^53 are written in full, larger ones below 1e21 with the digits of the double. Other
 * values that a float holds exactly get the digits of the float. */
size_t ln_format_number(char *buffer, size_t bytes, double value) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof(bits));
    const bool negative = bits >> 63 != 0;
    const double magnitude = negative ? -value : value;
    char text[48];
    size_t length = 0;
    if (value != value) {
        return put(buffer, bytes, "nan", 3);
    }
    if (negative) {
        text[length++] = '-';
    }
    if (magnitude > 1.7976931348623157e308) {
        memcpy(text + length, "inf", 3);
        return put(buffer, bytes, text, length + 3);
    }
    if (magnitude < 9007199254740992.0 && (double)(int64_t)magnitude == magnitude) {
        length += ln_format(text + length, 24, "%lld", (long long)magnitude);
        return put(buffer, bytes, text, length);
    }
    uint64_t mantissa = bits & ((UINT64_C(1) << 52) - 1);
    int exponent = (int)((bits >> 52) & 0x7ff);
    int mantissa_bits = 52;
    int bias = 1075;
    const bool is_count = magnitude >= 9007199254740992.0 && magnitude < 1e21;
    if (!is_count && magnitude <= 3.4028234663852886e38 && (double)(float)value == value) {
        const float single = (float)value;
        uint32_t single_bits = 0;
        memcpy(&single_bits, &single, sizeof(single_bits));
        mantissa = single_bits & 0x7fffff;
        exponent = (int)((single_bits >> 23) & 0xff);
        mantissa_bits = 23;
        bias = 150;
    }
    const bool lowest = mantissa == 0 && exponent > 1;
    mantissa |= exponent > 0 ? UINT64_C(1) << mantissa_bits : 0;
    exponent = (exponent > 0 ? exponent : 1) - bias;
    char digits[24];
    int point = 0;
    const int count = shortest_digits(mantissa, exponent, lowest, digits, &point);
    length += lay_out(text + length, digits, count, point);
    return put(buffer, bytes, text, length);
}

/* Builds the double nearest to quotient * 2^exponent, ties to even; `sticky` says that a little is missing.
 * The highest bit of quotient is set. */
static double round_double(uint64_t quotient, int exponent, bool sticky) {
    int drop = 11; /* bits below the mantissa */
    const int lowest = -1074;
    if (exponent + drop < lowest) {
        drop = lowest - exponent;
    }
    if (exponent + 63 > 1023) {
        return __builtin_inf();
    }
    if (drop > 64) {
        return 0;
    }
    uint64_t kept = drop < 64 ? quotient >> drop : 0;
    const uint64_t rest = drop < 64 ? quotient << (64 - drop) : quotient;
    const uint64_t half = UINT64_C(1) << 63;
    if (rest > half || (rest == half && (sticky || (kept & 1) != 0))) {
        kept++;
    }
    /* A carry out of the mantissa moves into the exponent field by itself. */
    const int field = exponent + drop + 1075;
    const uint64_t bits = drop > 11 ? kept : kept + ((uint64_t)(field - 1) << 52);
    double value = 0;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* digits * 10^exponent */
static double scale_digits(big *digits, int exponent) {
    big divisor;
    big_set(&divisor, 1);
    big_scale10(digits, exponent > 0 ? exponent : 0);
    big_scale10(&divisor, exponent < 0 ? -exponent : 0);
    /* Shift so that the quotient lies in [1, 2), then take 64 bits of it. */
    const int shift = big_bits(&divisor) - big_bits(digits);
    big_shift(digits, shift > 0 ? shift : 0);
    big_shift(&divisor, shift < 0 ? -shift : 0);
    int power = -shift;
    if (big_compare(digits, &divisor) < 0) {
        big_shift(digits, 1);
        power--;
    }
    uint64_t quotient = 0;
    for (int i = 0; i < 64; i++) {
        quotient <<= 1;
        if (big_compare(digits, &divisor) >= 0) {
            big_subtract(digits, &divisor);
            quotient |= 1;
        }
        big_shift(digits, 1);
    }
    return round_double(quotient, power - 63, digits->length > 0);
}

static bool same_word(const char *text, size_t length, const char *word) {
    if (strlen(word) != length) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if ((text[i] | 0x20) != word[i]) {
            return false;
        }
    }
    return true;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool ln_parse_number(const char *text, size_t length, double *value) {
    size_t at = 0;
    const bool negative = length > 0 && text[0] == '-';
    at += length > 0 && (text[0] == '-' || text[0] == '+') ? 1 : 0;
    if (same_word(text + at, length - at, "inf") || same_word(text + at, length - at, "infinity")) {
        *value = negative ? -__builtin_inf() : __builtin_inf();
        return true;
    }
    if (same_word(text + at, length - at, "nan")) {
        *value = __builtin_nan("");
        return true;
    }
    big digits;
    big_set(&digits, 0);
    int64_t exponent = 0;
    int kept = 0;
    bool seen = false;
    bool point = false;
    bool rest = false;
    for (; at < length && (is_digit(text[at]) || (text[at] == '.' && !point)); at++) {
        if (text[at] == '.') {
            point = true;
            continue;
        }
        seen = true;
        exponent -= point ? 1 : 0;
        if (kept < MAX_DIGITS - 1) {
            const uint32_t digit = (uint32_t)(text[at] - '0');
            big_scale(&digits, 10, digit);
            kept += digits.length > 0 ? 1 : 0;
        } else {
            rest = rest || text[at] != '0';
            exponent++;
        }
    }
    if (!seen) {
        return false;
    }
    if (at < length && (text[at] == 'e' || text[at] == 'E')) {
        at++;
        const bool down = at < length && text[at] == '-';
        at += at < length && (text[at] == '-' || text[at] == '+') ? 1 : 0;
        int64_t power = 0;
        if (at == length || !is_digit(text[at])) {
            return false;
        }
        for (; at < length && is_digit(text[at]); at++) {
            power = power < 1000000 ? power * 10 + (text[at] - '0') : power;
        }
        exponent += down ? -power : power;
    }
    if (at != length) {
        return false;
    }
    /* Digits that do not fit count as one that is not zero: enough to break ties. */
    if (rest) {
        big_scale(&digits, 10, 1);
        exponent--;
        kept++;
    }
    double magnitude = 0;
    if (digits.length > 0 && kept + exponent > 310) {
        magnitude = __builtin_inf();
    } else if (digits.length > 0 && kept + exponent > -330) {
        magnitude = scale_digits(&digits, (int)exponent);
    }
    *value = negative ? -magnitude : magnitude;
    return true;
}

bool ln_parse_integer(const char *text, size_t length, int64_t *value) {
    size_t at = length > 0 && (text[0] == '-' || text[0] == '+') ? 1 : 0;
    const bool negative = at > 0 && text[0] == '-';
    uint64_t magnitude = 0;
    const uint64_t limit = negative ? UINT64_C(1) << 63 : (UINT64_C(1) << 63) - 1;
    if (at == length) {
        return false;
    }
    for (; at < length; at++) {
        if (!is_digit(text[at]) || __builtin_mul_overflow(magnitude, 10, &magnitude) ||
            __builtin_add_overflow(magnitude, (uint64_t)(text[at] - '0'), &magnitude) || magnitude > limit) {
            return false;
        }
    }
    *value = (int64_t)(negative ? 0 - magnitude : magnitude);
    return true;
}
