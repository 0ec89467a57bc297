/*
 * The constants of vmath.h. Volatile, so that neither the C compiler nor the wasm optimiser turns a load back into a
 * literal; see vmath.h for what each polynomial approximates and how well.
 */
#include "vmath.h"

const volatile struct ln_vmath_table ln_vmath = {
    .one = 1.0f,
    .minus_one = -1.0f,
    .half = 0.5f,
    .two = 2.0f,
    .sign_bit = -0.0f,

    .log2e = 1.44269504f,
    .exp_magic = 12582912.0f + 127.0f,
    /* The high part has nine bits: its products with n are exact without a fused multiply-add too. */
    .ln2_high = 0.693359375f,
    .ln2_low = -2.12194440e-4f,
    .exp_low = -88.0f,
    .exp_high = 89.0f,
    .exp_full_low = -104.0f,
    .exp_full_high = 89.0f,
    .exp_ordinary = 87.0f,
    .exp_q = {0.499999930507f, 0.166665147915f, 0.0416684567813f, 0.00836941882588f, 0.00138131448638f},

    .sqrt_half = 0.707106781f,
    .min_normal = 0x1p-126f,
    .two_23 = 0x1p23f,
    .infinity = __builtin_inff(),
    .ln2_log_high = 0.693359375f,
    .ln2_log_low = -2.12194440e-4f,
    .log_p = {0.33333331784f, -0.250008216712f, 0.200012206904f, -0.166233273005f, 0.142018832316f,
              -0.131606347097f, 0.127608545388f, -0.0763227274384f},

    .tanh_limit = 9.02f * 9.02f,
    .tanh_p = {0.9999999791f, 0.133797095f, 0.00349402439f, 2.058331359e-5f, 1.331884452e-8f},
    .tanh_q = {0.4671302478f, 0.02587103477f, 0.0003283076146f, 7.761925097e-7f},
    .erf = {.limit = 3.92f * 3.92f,
            .one = 1.0f,
            .minus_one = -1.0f,
            .p = {1.128379146f, 0.1904016756f, 0.05274806171f, 0.003765402596f, 0.0002848765279f,
                  2.050107054e-06f},
            .q = {0.5020718338f, 0.1141071059f, 0.01496879003f, 0.001162480858f, 3.809159347e-05f}},
    /* From the above: t is halved, P divided by 4 sqrt 2, Q by 2. */
    .half_erf = {.limit = 2.0f * 3.92f * 3.92f,
                 .one = 0.5f,
                 .minus_one = -0.5f,
                 .p = {0.1994711365f, 0.0168292895f, 0.002331157008f, 8.320442842e-05f, 3.147470698e-06f,
                       1.132534844e-08f},
                 .q = {0.1255179584f, 0.01426338824f, 0.0009355493769f, 3.632752681e-05f, 5.95181148e-07f}},

    .sin_s = {-0.166666545366f, 0.0083321560537f, -0.000195146318862f},
    .cos_c = {0.0416666455545f, -0.0013887309867f, 2.44324130196e-5f},
    .trig_limit = 0x1p20f,
    .gelu_cubic = 0.044715f,
    .gelu_scale = 1.5957691216f, /* 2 sqrt(2 / pi) */

    .two_over_pi = 0.63661977236758134308,
    .trig_magic = 0x1.8p52,
    .pi_half_high = 0x1.921fb544p+0,
    .pi_half_low = 0x1.0b4611a626331p-34,
    .log2_w = {2.8853900817900801649, 0.96179667335006664444, 0.5770835832681244483, 0.41167282697731003902,
               0.34072800675402718363},
    .pow_limit = 300.0,
    .exp2_q = {0.693147202855f, 0.240226479136f, 0.0555033247124f, 0.00961843736023f, 0.00133988743828f,
               0.000153533611191f},
};
