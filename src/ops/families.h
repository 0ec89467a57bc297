/* The operator families of a full build: one LN_FAMILY line per file in this folder that ends with a table. */
#ifndef LN_FAMILY
#error "define LN_FAMILY(name) before including this list"
#endif
LN_FAMILY(binary)
LN_FAMILY(gated)
LN_FAMILY(select)
LN_FAMILY(unary)
LN_FAMILY(argmax)
LN_FAMILY(cast)
LN_FAMILY(cumulate)
LN_FAMILY(reduce)
LN_FAMILY(softmax)
LN_FAMILY(reshape)
LN_FAMILY(slice)
LN_FAMILY(concat)
LN_FAMILY(pad)
LN_FAMILY(gather)
LN_FAMILY(scatter)
LN_FAMILY(transpose)
LN_FAMILY(generate)
LN_FAMILY(draw)
