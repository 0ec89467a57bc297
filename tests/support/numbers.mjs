// The elements of a tensor as JavaScript numbers, for types that JavaScript has no array for.

/** A table of all values of a small float: sign, `exponentBits`, `mantissaBits`. */
function smallFloats(exponentBits, mantissaBits, bias, special) {
  const count = 1 << (1 + exponentBits + mantissaBits);
  return Float64Array.from({ length: count }, (_, bits) => {
    const found = special(bits);
    if (found !== undefined) return found;
    const sign = bits >> (exponentBits + mantissaBits) ? -1 : 1;
    const exponent = (bits >> mantissaBits) & ((1 << exponentBits) - 1);
    const mantissa = (bits & ((1 << mantissaBits) - 1)) / (1 << mantissaBits);
    return sign * (exponent ? (1 + mantissa) * 2 ** (exponent - bias) : mantissa * 2 ** (1 - bias));
  });
}

const TABLES = {
  float16: smallFloats(5, 10, 15, (bits) => ((bits & 0x7c00) === 0x7c00 ? (bits & 0x3ff ? NaN : bits >> 15 ? -Infinity : Infinity) : undefined)),
  float8e4m3fn: smallFloats(4, 3, 7, (bits) => ((bits & 0x7f) === 0x7f ? NaN : undefined)),
  float8e4m3fnuz: smallFloats(4, 3, 8, (bits) => (bits === 0x80 ? NaN : undefined)),
  float8e5m2: smallFloats(5, 2, 15, (bits) => ((bits & 0x7c) === 0x7c ? (bits & 3 ? NaN : bits >> 7 ? -Infinity : Infinity) : undefined)),
  float8e5m2fnuz: smallFloats(5, 2, 16, (bits) => (bits === 0x80 ? NaN : undefined)),
  float4e2m1: smallFloats(2, 1, 1, () => undefined),
  float6e2m3: smallFloats(2, 3, 1, () => undefined),
  float6e3m2: smallFloats(3, 2, 3, () => undefined),
  float8e8m0: Float64Array.from({ length: 256 }, (_, bits) => (bits === 255 ? NaN : 2 ** (bits - 127))),
  uint4: Float64Array.from({ length: 16 }, (_, bits) => bits),
  int4: Float64Array.from({ length: 16 }, (_, bits) => (bits << 28) >> 28),
  uint2: Float64Array.from({ length: 4 }, (_, bits) => bits),
  int2: Float64Array.from({ length: 4 }, (_, bits) => (bits << 30) >> 30),
};
const PACKED_BITS = { uint4: 4, int4: 4, float4e2m1: 4, float6e2m3: 6, float6e3m2: 6, uint2: 2, int2: 2 };

/** The elements as an array of numbers, or of BigInt for 64-bit integers, or of strings. */
export function numbersOf({ type, data, size }) {
  if (type === 'bfloat16') {
    const bits = Uint32Array.from(data, (value) => value << 16);
    return new Float32Array(bits.buffer);
  }
  const table = TABLES[type];
  if (!table) return data;
  const packed = PACKED_BITS[type];
  const raw = type === 'float16' ? new Uint16Array(data.buffer, data.byteOffset, data.length) : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (!packed) return Float64Array.from(raw, (bits) => table[bits]);
  return Float64Array.from({ length: size }, (_, i) => {
    const at = i * packed;
    const word = raw[at >> 3] | (raw[(at >> 3) + 1] << 8);
    return table[(word >> (at & 7)) & ((1 << packed) - 1)];
  });
}

/** The float16 bits of a number, rounded to nearest even. */
export function toFloat16(value) {
  const [bits] = new Uint32Array(Float32Array.of(value).buffer);
  const sign = (bits >>> 16) & 0x8000;
  if (Number.isNaN(value)) return sign | 0x7e00;
  const magnitude = Math.abs(Math.fround(value));
  if (magnitude >= 65520) return sign | 0x7c00;
  const exponent = Math.max(-14, Math.floor(Math.log2(magnitude || 1e-30)));
  const scaled = magnitude / 2 ** (exponent - 10);
  const floor = Math.floor(scaled);
  const rest = scaled - floor;
  const rounded = floor + (rest > 0.5 || (rest === 0.5 && floor % 2) ? 1 : 0);
  return sign | (exponent === -14 ? rounded : ((exponent + 14) << 10) + rounded);
}
