# The images artifact: the one-thread simd128 artifact with decoders for JPEG, PNG, WebP, JPEG 2000 and TIFF, for models with
# an ImageDecoder. LN_IMAGES_DIR holds the unpacked sources of the libraries (node tools/images.mjs); without it there is no such
# artifact. Only what decodes is compiled, and each library's configuration is a header in images/config.
set(LN_IMAGES_DIR "" CACHE PATH "Sources of the image libraries; empty for no images artifact")
if(NOT LN_IMAGES_DIR)
    return()
endif()

# A library: its folder under LN_IMAGES_DIR, a pattern with @ for the name, and the names.
set(LN_IMAGES_SOURCES "")
macro(ln_images_sources pattern)
    foreach(name ${ARGN})
        string(REPLACE "@" "${name}" file "${pattern}")
        list(APPEND LN_IMAGES_SOURCES "${LN_IMAGES_DIR}/${file}")
    endforeach()
endmacro()

ln_images_sources(libjpeg-turbo/src/@.c jaricom jcomapi jdapimin jdarith jdatasrc jdhuff jdicc jdinput jdlhuff jdmarker
    jdmaster jdphuff jerror jmemmgr jmemnobs jpeg_nbits)
foreach(bits 8 12 16)
    ln_images_sources(libjpeg-turbo/src/wrapper/@-${bits}.c jdapistd jdcolor jddiffct jdlossls jdmainct jdpostct jdsample
        jutils)
endforeach()
foreach(bits 8 12)
    ln_images_sources(libjpeg-turbo/src/wrapper/@-${bits}.c jdcoefct jddctmgr jdmerge jidctflt jidctfst jidctint jidctred
        jquant1 jquant2)
endforeach()
ln_images_sources(libwebp/src/dec/@_dec.c alpha buffer frame idec io quant tree vp8 vp8l webp)
ln_images_sources(libwebp/src/dsp/@.c alpha_processing cpu dec dec_clip_tables filters lossless rescaler upsampling yuv)
ln_images_sources(libwebp/src/utils/@.c bit_reader_utils color_cache_utils filters_utils huffman_utils
    quant_levels_dec_utils random_utils rescaler_utils thread_utils utils palette)
ln_images_sources(openjpeg2/src/lib/openjp2/@.c bio cio dwt event function_list ht_dec image invert j2k jp2 mct mqc openjpeg
    opj_clock opj_malloc pi sparse_array t1 t2 tcd tgt thread)
ln_images_sources(tiff/libtiff/tif_@.c aux close codec color compress dir dirinfo dirread dirwrite dumpmode error extension
    fax3 fax3sm flush getimage hash_set luv lzw next open packbits predict print read strip swab thunder tile version warning
    write zip)
ln_images_sources(zlib/@.c adler32 compress crc32 deflate inffast inflate inftrees trees zutil)
ln_images_sources(libspng/spng/@.c spng)

set(LN_IMAGES_INCLUDES
    "${CMAKE_CURRENT_SOURCE_DIR}/images/config"
    "${LN_IMAGES_DIR}/libjpeg-turbo/src"
    "${LN_IMAGES_DIR}/libwebp"
    "${LN_IMAGES_DIR}/libwebp/src"
    "${LN_IMAGES_DIR}/openjpeg2/src/lib/openjp2"
    "${LN_IMAGES_DIR}/tiff/libtiff"
    "${LN_IMAGES_DIR}/zlib"
    "${LN_IMAGES_DIR}/libspng/spng")
file(GLOB LN_IMAGES_CODECS CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/images/*.c")

# libjpeg leaves by longjmp, which is a WebAssembly exception: engines have those since 2021 (Safari 15.2).
set(LN_IMAGES_FLAGS -Os -DSPNG_STATIC -DSPNG_DISABLE_OPT -DOPJ_STATIC -sSUPPORT_LONGJMP=wasm)
ln_objects(ln_images_libraries FOREIGN SOURCES ${LN_IMAGES_SOURCES} FLAGS ${LN_WASM_FLAGS} -matomics ${LN_IMAGES_FLAGS})
ln_objects(ln_images_codecs SOURCES ${LN_IMAGES_CODECS} FLAGS ${LN_WASM_FLAGS} -matomics ${LN_IMAGES_FLAGS})
foreach(target ln_images_libraries ln_images_codecs)
    target_include_directories(${target} SYSTEM PRIVATE ${LN_IMAGES_INCLUDES})
endforeach()

ln_artifact(linnet.images simd single)
target_sources(linnet.images PRIVATE $<TARGET_OBJECTS:ln_images_libraries> $<TARGET_OBJECTS:ln_images_codecs>)
target_link_options(linnet.images PRIVATE -sSUPPORT_LONGJMP=wasm)
