/* What the C library would import from JavaScript for the image libraries: files, the environment and an exit. There are none;
 * writing to a file, as to the error stream, succeeds and does nothing, the environment is empty. See web/wasm_env.c.
 */
#include <stddef.h>
#include <stdint.h>

typedef struct io_vector {
    const void *bytes;
    size_t size;
} io_vector;

enum { BAD_DESCRIPTOR = 8 }; /* __WASI_ERRNO_BADF */

uint16_t __wasi_fd_write(int descriptor, const io_vector *vectors, size_t count, size_t *written);
uint16_t __wasi_fd_read(int descriptor, const io_vector *vectors, size_t count, size_t *read);
uint16_t __wasi_fd_seek(int descriptor, int64_t offset, uint8_t whence, uint64_t *position);
uint16_t __wasi_fd_close(int descriptor);
uint16_t __wasi_environ_sizes_get(size_t *count, size_t *bytes);
uint16_t __wasi_environ_get(uint8_t **entries, uint8_t *buffer);
_Noreturn void __wasi_proc_exit(uint32_t code);

uint16_t __wasi_fd_write(int descriptor, const io_vector *vectors, size_t count, size_t *written) {
    (void)descriptor;
    *written = 0;
    for (size_t i = 0; i < count; i++) {
        *written += vectors[i].size;
    }
    return 0;
}

uint16_t __wasi_fd_read(int descriptor, const io_vector *vectors, size_t count, size_t *read) {
    (void)descriptor;
    (void)vectors;
    (void)count;
    *read = 0;
    return BAD_DESCRIPTOR;
}

uint16_t __wasi_fd_seek(int descriptor, int64_t offset, uint8_t whence, uint64_t *position) {
    (void)descriptor;
    (void)offset;
    (void)whence;
    *position = 0;
    return BAD_DESCRIPTOR;
}

uint16_t __wasi_fd_close(int descriptor) {
    (void)descriptor;
    return BAD_DESCRIPTOR;
}

uint16_t __wasi_environ_sizes_get(size_t *count, size_t *bytes) {
    *count = 0;
    *bytes = 0;
    return 0;
}

uint16_t __wasi_environ_get(uint8_t **entries, uint8_t *buffer) {
    (void)entries;
    (void)buffer;
    return 0;
}

/* Only a failed assertion of a library ends here. */
_Noreturn void __wasi_proc_exit(uint32_t code) {
    (void)code;
    __builtin_trap();
}
