/* The thread pool, in three builds of one source: wasm with atomics (workers come in from JavaScript and
 * sleep on a futex), native (pthreads and a condition variable), wasm without threads (everything runs on
 * the caller).
 *
 * Two words drive it. `generation` counts grids; workers wait for it to change, spinning a while before
 * they sleep. `gate` holds the OPEN bit and the number of workers inside the current grid. A worker enters
 * only through an open gate; the caller opens it after the grid's fields are written, closes it when the
 * tasks have run out and waits until nobody is inside. So no worker ever sees a grid half written, however
 * late it wakes.
 *
 * Waking costs microseconds, as much as the grids of a small model take. So workers sleep between runs, but within one
 * they spin long enough to be there for the next grid, and no more are woken than have tasks. Whether a model gains
 * is measured: where workers did less than half of their share of a run's tasks, three runs in a row, the
 * runs that follow do without them, more of them each time that a trial says the same.
 */
#include "base/pool.h"

#include <stdlib.h>
#include <string.h>

#include "linnet.h"

#if !defined(__wasm__) || defined(__wasm_atomics__)
#define POOL_THREADS 1
#else
#define POOL_THREADS 0
#endif

#if POOL_THREADS
#include <stdatomic.h>
#if !defined(__wasm__)
#include <pthread.h>
#include <sched.h>
#endif

enum {
    MAX_THREADS = 256,
    SPINS_AT_REST = 2000, /* about two microseconds */
    SPINS_IN_RUN =
        50000, /* about a twentieth of a millisecond at least: longer than most steps that do not split */
    FUTILE_RUNS = 3,    /* before the first run alone */
    LEAST_ALONE = 32,   /* runs in a row, twice as many each time, */
    MOST_DOUBLINGS = 5, /* up to so often */
    GATE_OPEN = 1 << 16,
};

/* The caller gives up on workers that have not finished a single task during this many looks at the gate:
 * about half a minute. It cannot look at a clock, nor wait, on a page's main thread. */
#define SPINS_BEFORE_DEATH (INT64_C(1) << 35)

struct ln_pool {
    ln_pool_task task;
    void *argument;
    int64_t end;
    int threads;
    _Alignas(64) _Atomic int64_t next;
    _Alignas(64) _Atomic uint32_t generation;
    _Atomic uint32_t sleepers;
    _Alignas(64) _Atomic uint32_t gate;
    _Atomic uint32_t finished; /* tasks done by workers: a sign of life */
    _Atomic int32_t spins;     /* before a worker sleeps */
    uint32_t finished_before;  /* this run */
    int64_t offered;           /* tasks of this run that could be shared */
    _Atomic bool closed;
    _Atomic bool poisoned;
    _Atomic int32_t live;
#if !defined(__wasm__)
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    pthread_t *handles;
    int n_handles;
#endif
};

static void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Sleeps until `generation` is no longer `seen`. The sleeper counts itself first, and the waker changes the
 * generation first, so that one of the two sees the other. */
static void sleep_until_new(ln_pool *pool, uint32_t seen) {
    atomic_fetch_add(&pool->sleepers, 1);
#if defined(__wasm__)
    while (atomic_load(&pool->generation) == seen) {
        (void)__builtin_wasm_memory_atomic_wait32((int *)(void *)&pool->generation, (int)seen, -1);
    }
#else
    (void)pthread_mutex_lock(&pool->mutex);
    while (atomic_load(&pool->generation) == seen) {
        (void)pthread_cond_wait(&pool->wake, &pool->mutex);
    }
    (void)pthread_mutex_unlock(&pool->mutex);
#endif
    atomic_fetch_sub(&pool->sleepers, 1);
}

/* Calls workers to a new grid: those awake see it, and of the sleepers at most so many are woken. */
static void wake(ln_pool *pool, uint32_t most) {
    atomic_fetch_add(&pool->generation, 1);
    if (atomic_load(&pool->sleepers) == 0) {
        return;
    }
#if defined(__wasm__)
    (void)__builtin_wasm_memory_atomic_notify((int *)(void *)&pool->generation, most);
#else
    (void)most; /* sleepers cannot be counted out */
    (void)pthread_mutex_lock(&pool->mutex);
    (void)pthread_cond_broadcast(&pool->wake);
    (void)pthread_mutex_unlock(&pool->mutex);
#endif
}

static void drain(ln_pool *pool, int worker) {
    for (;;) {
        const int64_t index = atomic_fetch_add(&pool->next, 1);
        if (index >= pool->end || atomic_load(&pool->poisoned)) {
            return;
        }
        pool->task(pool->argument, index, worker);
        if (worker != 0) {
            atomic_fetch_add(&pool->finished, 1);
        }
    }
}

static bool enter(ln_pool *pool) {
    uint32_t gate = atomic_load(&pool->gate);
    while ((gate & GATE_OPEN) != 0) {
        if (atomic_compare_exchange_weak(&pool->gate, &gate, gate + 1)) {
            return true;
        }
    }
    return false;
}

void ln_pool_worker(ln_pool *pool, int index) {
    atomic_fetch_add(&pool->live, 1);
    uint32_t seen = 0;
    int spins = 0;
    while (!atomic_load(&pool->closed)) {
        const uint32_t generation = atomic_load(&pool->generation);
        if (generation != seen) {
            seen = generation;
            spins = 0;
            if (enter(pool)) {
                drain(pool, index);
                atomic_fetch_sub(&pool->gate, 1);
            }
        } else if (spins < atomic_load(&pool->spins)) {
            spins++;
            relax();
        } else {
            sleep_until_new(pool, seen);
            spins = 0;
        }
    }
    atomic_fetch_sub(&pool->live, 1);
}

/* Waits until the last worker has left the grid; false when the pool is poisoned or the workers show no
 * life. */
static bool wait_for_workers(ln_pool *pool) {
    int64_t spins = 0;
    uint32_t finished = atomic_load(&pool->finished);
    while (atomic_load(&pool->gate) != 0) {
        if (atomic_load(&pool->poisoned)) {
            return false;
        }
        const uint32_t now = atomic_load(&pool->finished);
        spins = now == finished ? spins + 1 : 0;
        finished = now;
#if defined(__wasm__)
        if (spins > SPINS_BEFORE_DEATH) {
            ln_pool_poison(pool);
            return false;
        }
#else
        if (spins > SPINS_AT_REST) {
            (void)sched_yield();
        }
#endif
        relax();
    }
    return !atomic_load(&pool->poisoned);
}

static void run_inline(ln_pool_task task, void *argument, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
        task(argument, i, 0);
    }
}

bool ln_pool_run(ln_pool *pool, ln_pool_task task, void *argument, int64_t begin, int64_t end) {
    if (pool != NULL && atomic_load(&pool->poisoned)) {
        return false;
    }
    if (pool == NULL || pool->threads == 1 || end - begin <= 1) {
        run_inline(task, argument, begin, end);
        return true;
    }
    pool->task = task;
    pool->argument = argument;
    pool->end = end;
    atomic_store(&pool->next, begin);
    pool->offered += end - begin;
    atomic_store(&pool->gate, GATE_OPEN);
    wake(pool, end - begin > UINT32_MAX ? UINT32_MAX : (uint32_t)(end - begin - 1));
    drain(pool, 0);
    atomic_fetch_and(&pool->gate, ~(uint32_t)GATE_OPEN);
    return wait_for_workers(pool);
}

ln_pool *ln_pool_enter(ln_pool *pool, ln_pool_lesson *lesson) {
    if (pool == NULL || pool->threads == 1 || atomic_load(&pool->poisoned)) {
        return pool;
    }
    if (lesson->alone > 0) {
        lesson->alone--;
        return NULL;
    }
    pool->offered = 0;
    pool->finished_before = atomic_load(&pool->finished);
    atomic_store(&pool->spins, SPINS_IN_RUN);
    return pool;
}

void ln_pool_leave(ln_pool *pool, ln_pool_lesson *lesson) {
    if (pool == NULL || pool->threads == 1) {
        return;
    }
    atomic_store(&pool->spins, SPINS_AT_REST);
    if (atomic_load(&pool->live) != pool->threads - 1) {
        return; /* they are still starting */
    }
    const int64_t helped = (int64_t)(uint32_t)(atomic_load(&pool->finished) - pool->finished_before);
    if (2 * helped * pool->threads >= pool->offered * (pool->threads - 1)) {
        lesson->futile = 0;
    } else if (++lesson->futile >= FUTILE_RUNS) {
        const int doublings = lesson->futile - FUTILE_RUNS;
        lesson->alone = LEAST_ALONE << (doublings < MOST_DOUBLINGS ? doublings : MOST_DOUBLINGS);
    }
}

#if !defined(__wasm__)
typedef struct thread_start {
    ln_pool *pool;
    int index;
} thread_start;

static void *thread_main(void *argument) {
    const thread_start start = *(thread_start *)argument;
    free(argument);
    ln_pool_worker(start.pool, start.index);
    return NULL;
}

/* A pool whose threads do not all start is a smaller pool. */
static void start_threads(ln_pool *pool) {
    for (int i = 1; i < pool->threads; i++) {
        thread_start *const start = malloc(sizeof(*start));
        if (start == NULL) {
            break;
        }
        *start = (thread_start){pool, i};
        if (pthread_create(&pool->handles[i - 1], NULL, thread_main, start) != 0) {
            free(start);
            break;
        }
        pool->n_handles++;
    }
    pool->threads = pool->n_handles + 1;
}
#endif

ln_pool *ln_pool_new(int threads) {
    ln_pool *const pool = aligned_alloc(64, sizeof(*pool));
    if (pool == NULL) {
        return NULL;
    }
    memset(pool, 0, sizeof(*pool));
    pool->threads = threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : threads;
    atomic_store(&pool->spins, SPINS_AT_REST);
#if !defined(__wasm__)
    pool->handles = calloc((size_t)pool->threads, sizeof(*pool->handles));
    if (pool->handles == NULL) {
        free(pool);
        return NULL;
    }
    (void)pthread_mutex_init(&pool->mutex, NULL);
    (void)pthread_cond_init(&pool->wake, NULL);
    start_threads(pool);
#endif
    return pool;
}

void ln_pool_close(ln_pool *pool) {
    atomic_store(&pool->closed, true);
    wake(pool, UINT32_MAX);
}

int ln_pool_live(ln_pool *pool) {
    return atomic_load(&pool->live);
}

void ln_pool_free(ln_pool *pool) {
    if (pool == NULL) {
        return;
    }
#if !defined(__wasm__)
    ln_pool_close(pool);
    for (int i = 0; i < pool->n_handles; i++) {
        (void)pthread_join(pool->handles[i], NULL);
    }
    (void)pthread_cond_destroy(&pool->wake);
    (void)pthread_mutex_destroy(&pool->mutex);
    free(pool->handles);
#endif
    free(pool);
}

void ln_pool_poison(ln_pool *pool) {
    atomic_store(&pool->poisoned, true);
}

int ln_pool_threads(const ln_pool *pool) {
    return pool != NULL ? pool->threads : 1;
}

#else /* one thread */

struct ln_pool {
    bool poisoned;
};

ln_pool *ln_pool_new(int threads) {
    (void)threads;
    return calloc(1, sizeof(ln_pool));
}

void ln_pool_worker(ln_pool *pool, int index) {
    (void)pool;
    (void)index;
}

void ln_pool_close(ln_pool *pool) {
    (void)pool;
}

int ln_pool_live(ln_pool *pool) {
    (void)pool;
    return 0;
}

void ln_pool_free(ln_pool *pool) {
    free(pool);
}

void ln_pool_poison(ln_pool *pool) {
    pool->poisoned = true;
}

bool ln_pool_run(ln_pool *pool, ln_pool_task task, void *argument, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
        task(argument, i, 0);
    }
    return pool == NULL || !pool->poisoned;
}

ln_pool *ln_pool_enter(ln_pool *pool, ln_pool_lesson *lesson) {
    (void)lesson;
    return pool;
}

void ln_pool_leave(ln_pool *pool, ln_pool_lesson *lesson) {
    (void)pool;
    (void)lesson;
}

int ln_pool_threads(const ln_pool *pool) {
    (void)pool;
    return 1;
}

#endif
