/* What Emscripten's C library would import from JavaScript, defined here, so that the artifacts import no function.
 *
 * The library's own calls remain what they are: memory grows by the memory.grow instruction, and nothing in linnet
 * reads a clock. An artifact with shared memory imports that memory and nothing else; the others import nothing.
 */
#include <stddef.h>
#include <stdint.h>

void emscripten_notify_memory_growth(size_t index);
uint16_t __wasi_clock_time_get(uint32_t clock, uint64_t precision, uint64_t *time);
void __do_set_thread_state(void);

/* The host finds out about growth by looking at the length of the memory's buffer. */
void emscripten_notify_memory_growth(size_t index) {
    (void)index;
}

/* Read by timed waits only, of which there are none: time stands still. */
uint16_t __wasi_clock_time_get(uint32_t clock, uint64_t precision, uint64_t *time) {
    (void)clock;
    (void)precision;
    *time = 0;
    return 0;
}

/* Told which thread is the main one; linnet's pool does not ask. */
void __do_set_thread_state(void) {}
