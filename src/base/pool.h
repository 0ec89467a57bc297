/* The thread pool: workers that run the tasks of one grid at a time.
 *
 * Tasks are numbered 0..count-1 and handed out by an atomic counter; the caller takes part and then spins until
 * the last task is done, so that a page's main thread never blocks in a wait. Workers sleep on a futex (natively
 * a condition variable). A grid's tasks are fixed by shape, never by the number of threads, and each
 * output element belongs to one task: results do not depend on the thread count. A worker that traps
 * poisons the pool, and the run ends with THREAD_DIED.
 */
#ifndef LN_BASE_POOL_H
#define LN_BASE_POOL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ln_pool ln_pool;

/* `worker` is 0 for the caller and 1..threads-1 for workers: the index of per-thread scratch. */
typedef void (*ln_pool_task)(void *argument, int64_t index, int worker);

/* Runs all tasks in [begin, end); returns false when a worker died. A NULL pool runs them on the caller. */
bool ln_pool_run(ln_pool *pool, ln_pool_task task, void *argument, int64_t begin, int64_t end);
/* What earlier runs of a plan taught: how often in a row workers hardly helped, and for how many more runs they are let be. */
typedef struct ln_pool_lesson {
    int32_t futile;
    int32_t alone;
} ln_pool_lesson;

/* The pool for a run that begins, or NULL when it does better alone. Workers then stay awake between grids. */
ln_pool *ln_pool_enter(ln_pool *pool, ln_pool_lesson *lesson);
/* Ends the run on what ln_pool_enter gave: workers go to sleep, and the lesson is learnt. */
void ln_pool_leave(ln_pool *pool, ln_pool_lesson *lesson);
/* Threads that take part, the caller included; 1 for a NULL pool. */
int ln_pool_threads(const ln_pool *pool);

#endif
