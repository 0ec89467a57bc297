/* Formatting without the C library's printf family, which would cost a tenth of the wasm budget. */
#ifndef LN_BASE_TEXT_H
#define LN_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/context.h"

/* Like vsnprintf for the conversions that ln_fail lists; always terminates; returns the length written. */
size_t ln_format_v(char *buffer, size_t bytes, const char *format, va_list arguments);
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
size_t ln_format(char *buffer, size_t bytes, const char *format, ...);
/* Shortest decimal text that reads back as the same float (or double, for values no float holds), at most
 * 32 bytes. Integers below 2^53 are written in full; "nan", "inf" and "-inf" for what is not finite. */
size_t ln_format_number(char *buffer, size_t bytes, double value);
/* Reads a decimal number of `length` bytes; false when it is not one. */
bool ln_parse_number(const char *text, size_t length, double *value);
/* Reads a decimal integer; false when it is not one or does not fit. */
bool ln_parse_integer(const char *text, size_t length, int64_t *value);

/* A growing text, used to write JSON. A failed allocation is remembered and ends up in `failed`. */
typedef struct ln_text {
    ln_context *context;
    char *data; /* NUL-terminated */
    size_t length;
    size_t capacity;
    bool failed;
} ln_text;

void ln_text_init(ln_text *text, ln_context *context);
void ln_text_free(ln_text *text);
void ln_text_add(ln_text *text, const char *bytes, size_t length);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void ln_text_printf(ln_text *text, const char *format, ...);
/* Adds a JSON string, quoted and escaped; invalid UTF-8 becomes U+FFFD. */
void ln_text_json(ln_text *text, const char *bytes, size_t length);

#endif
