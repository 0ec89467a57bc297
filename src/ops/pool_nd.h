/* Pooling over one plane in double precision, for element types that the float32 kernels do not serve, and the geometry that
 * those kernels take. */
#ifndef LN_OPS_POOL_ND_H
#define LN_OPS_POOL_ND_H

#include "ops/window.h"
#include "simd/vector.h"

typedef enum ln_pool_kind { LN_POOL_MAX, LN_POOL_AVERAGE, LN_POOL_LP } ln_pool_kind;

/* dst[out...] over src[in...]; p is the norm of LP; count_include_pad is of AVERAGE. indices, if not NULL, receives for
 * MAX the index of each maximum in the plane (row-major). */
void ln_pool_plane_f64(double *dst, int64_t *indices, const double *src, const ln_window_shape *shape,
                       ln_pool_kind kind, bool count_include_pad, double p);

/* A window as the kernels take it, over depth, height and width: axes that the input lacks have size 1. */
void ln_pool_geometry(const ln_window_shape *shape, struct ln_pooling *pooling);

#endif
