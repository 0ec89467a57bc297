/* The formatter and the growing text.
 *
 * A format is walked once; every conversion writes through `emit`, which drops what does not fit. Numbers
 * in floating point go to number.c.
 */
#include "base/text.h"

#include <string.h>

enum { NUMBER_BYTES = 32, FIRST_CAPACITY = 256 };

/* A bounded buffer; the last byte is kept for the terminator. */
typedef struct sink {
    char *buffer;
    size_t bytes;
    size_t length;
} sink;

static void emit(sink *out, const char *text, size_t length) {
    const size_t room = out->bytes - 1 - out->length;
    const size_t taken = length < room ? length : room;
    if (taken > 0) {
        memcpy(out->buffer + out->length, text, taken);
        out->length += taken;
    }
}

static void emit_unsigned(sink *out, uint64_t value, bool negative) {
    char digits[NUMBER_BYTES];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    if (negative) {
        digits[--at] = '-';
    }
    emit(out, digits + at, sizeof(digits) - at);
}

static void emit_signed(sink *out, int64_t value) {
    emit_unsigned(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0);
}

/* Length modifiers: bytes of the integer argument, from the letters in front of the conversion. */
static const char *read_length(const char *format, size_t *bytes) {
    *bytes = sizeof(int);
    if (*format == 'z') {
        *bytes = sizeof(size_t);
        return format + 1;
    }
    if (*format == 'l') {
        *bytes = format[1] == 'l' ? sizeof(long long) : sizeof(long);
        return format + (format[1] == 'l' ? 2 : 1);
    }
    return format;
}

size_t ln_format_v(char *buffer, size_t bytes, const char *format, va_list arguments) {
    if (bytes == 0) {
        return 0;
    }
    sink out = {buffer, bytes, 0};
    va_list list;
    va_copy(list, arguments);
    while (*format != '\0') {
        const char *const percent = strchr(format, '%');
        if (percent == NULL) {
            emit(&out, format, strlen(format));
            break;
        }
        emit(&out, format, (size_t)(percent - format));
        format = percent + 1;
        int precision = -1;
        if (format[0] == '.' && format[1] == '*') {
            precision = va_arg(list, int);
            format += 2;
        }
        size_t width = 0;
        format = read_length(format, &width);
        char text[NUMBER_BYTES];
        switch (*format) {
        case 'd':
            emit_signed(&out, width == sizeof(int64_t) ? (int64_t)va_arg(list, long long)
                                                       : (int64_t)va_arg(list, int));
            break;
        case 'u':
            emit_unsigned(&out,
                          width == sizeof(uint64_t) ? (uint64_t)va_arg(list, unsigned long long)
                                                    : (uint64_t)va_arg(list, unsigned),
                          false);
            break;
        case 's': {
            const char *const string = va_arg(list, const char *);
            const char *const shown = string != NULL ? string : "(null)";
            const char *const end = precision >= 0 ? memchr(shown, 0, (size_t)precision) : NULL;
            emit(&out, shown,
                 precision < 0 ? strlen(shown)
                 : end != NULL ? (size_t)(end - shown)
                               : (size_t)precision);
            break;
        }
        case 'c':
            text[0] = (char)va_arg(list, int);
            emit(&out, text, 1);
            break;
        case 'g':
            emit(&out, text, ln_format_number(text, sizeof(text), va_arg(list, double)));
            break;
        case '\0':
            format--;
            break;
        default:
            emit(&out, format, 1);
            break;
        }
        format++;
    }
    va_end(list);
    buffer[out.length] = '\0';
    return out.length;
}

size_t ln_format(char *buffer, size_t bytes, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const size_t length = ln_format_v(buffer, bytes, format, arguments);
    va_end(arguments);
    return length;
}

void ln_text_init(ln_text *text, ln_context *context) {
    memset(text, 0, sizeof(*text));
    text->context = context;
}

void ln_text_free(ln_text *text) {
    ln_free(text->context, text->data);
    ln_text_init(text, text->context);
}

/* Makes room for `more` bytes and a terminator. */
static bool text_reserve(ln_text *text, size_t more) {
    if (text->failed || more > SIZE_MAX / 4 || text->length > SIZE_MAX / 4) {
        text->failed = true;
        return false;
    }
    const size_t wanted = text->length + more + 1;
    if (wanted <= text->capacity) {
        return true;
    }
    size_t capacity = text->capacity > 0 ? text->capacity * 2 : FIRST_CAPACITY;
    capacity = capacity < wanted ? wanted : capacity;
    char *const data = ln_alloc(text->context, capacity, LN_MEMORY_SCRATCH);
    if (data == NULL) {
        text->failed = true;
        return false;
    }
    if (text->length > 0) {
        memcpy(data, text->data, text->length);
    }
    data[text->length] = '\0';
    ln_free(text->context, text->data);
    text->data = data;
    text->capacity = capacity;
    return true;
}

void ln_text_add(ln_text *text, const char *bytes, size_t length) {
    if (text_reserve(text, length)) {
        if (length > 0) {
            memcpy(text->data + text->length, bytes, length);
        }
        text->length += length;
        text->data[text->length] = '\0';
    }
}

/* A first try fills what room there is; output that reaches its end is formatted again into twice as much. */
void ln_text_printf(ln_text *text, const char *format, ...) {
    size_t room = 128;
    while (text_reserve(text, room)) {
        room = text->capacity - text->length;
        va_list arguments;
        va_start(arguments, format);
        const size_t length = ln_format_v(text->data + text->length, room, format, arguments);
        va_end(arguments);
        if (length + 1 < room) {
            text->length += length;
            return;
        }
        text->data[text->length] = '\0';
        room *= 2;
    }
}

/* Bytes of the UTF-8 sequence at `text`, or 0 when it is not valid, be it overlong or a surrogate. */
static size_t utf8_length(const unsigned char *text, size_t length) {
    const unsigned char lead = text[0];
    if (lead < 0x80) {
        return 1;
    }
    const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || bytes > length) {
        return 0;
    }
    for (size_t i = 1; i < bytes; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    const bool overlong = (lead == 0xe0 && text[1] < 0xa0) || (lead == 0xf0 && text[1] < 0x90);
    const bool outside = (lead == 0xed && text[1] > 0x9f) || (lead == 0xf4 && text[1] > 0x8f);
    return overlong || outside ? 0 : bytes;
}

void ln_text_json(ln_text *text, const char *bytes, size_t length) {
    static const char hex[] = "0123456789abcdef";
    ln_text_add(text, "\"", 1);
    for (size_t i = 0; i < length;) {
        const unsigned char byte = (unsigned char)bytes[i];
        const size_t step = utf8_length((const unsigned char *)bytes + i, length - i);
        if (step == 0) {
            ln_text_add(text, "\xef\xbf\xbd", 3);
            i++;
            continue;
        }
        if (byte == '"' || byte == '\\') {
            const char escaped[2] = {'\\', (char)byte};
            ln_text_add(text, escaped, sizeof(escaped));
        } else if (byte < 0x20 || byte == 0x7f) {
            const char escaped[6] = {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]};
            ln_text_add(text, escaped, sizeof(escaped));
        } else {
            ln_text_add(text, bytes + i, step);
        }
        i += step;
    }
    ln_text_add(text, "\"", 1);
}
