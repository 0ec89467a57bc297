/* OpenJPEG's private configuration: plain malloc, little endian. */
#define OPJ_PACKAGE_VERSION "2.5.4"
#define OPJ_HAVE_POSIX_MEMALIGN
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200112L
#endif
