/* libjpeg-turbo's configuration: 8-bit and higher precisions, arithmetic decoding, no SIMD. */
#define JPEG_LIB_VERSION             62
#define LIBJPEG_TURBO_VERSION        3.1.3
#define LIBJPEG_TURBO_VERSION_NUMBER 3001003
#define D_ARITH_CODING_SUPPORTED     1
#define MEM_SRCDST_SUPPORTED         1
#ifndef BITS_IN_JSAMPLE
#define BITS_IN_JSAMPLE 8
#endif
