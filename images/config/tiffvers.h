/* libtiff's version. */
#define TIFFLIB_VERSION_STR             "LIBTIFF, Version 4.7.2"
#define TIFFLIB_VERSION                 20260101
#define TIFFLIB_MAJOR_VERSION           4
#define TIFFLIB_MINOR_VERSION           7
#define TIFFLIB_MICRO_VERSION           2
#define TIFFLIB_VERSION_STR_MAJ_MIN_MIC "4.7.2"
#define TIFFLIB_AT_LEAST(major, minor, micro)                                                                \
    (major < 4 || (major == 4 && (minor < 7 || (minor == 7 && micro <= 2))))
