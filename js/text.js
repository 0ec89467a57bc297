// UTF-8 to JavaScript strings and back, in plain ECMAScript: an AudioWorklet has no TextDecoder, and TextDecoder does
// not read shared memory.

const REPLACEMENT = 0xfffd;

/**
 * @param {Uint8Array} bytes
 * @param {number} begin
 * @param {number} end
 * @returns {string}
 */
export function decodeUtf8(bytes, begin = 0, end = bytes.length) {
  let text = '';
  let units = [];
  for (let i = begin; i < end;) {
    const [point, length] = decodePoint(bytes, i, end);
    i += length;
    units.push(point);
    if (units.length === 4096) {
      text += String.fromCodePoint(...units);
      units = [];
    }
  }
  return text + String.fromCodePoint(...units);
}

/**
 * One code point and the bytes it takes. A byte that begins no valid sequence is one replacement character.
 * @param {Uint8Array} bytes
 * @param {number} i
 * @param {number} end
 * @returns {[number, number]}
 */
function decodePoint(bytes, i, end) {
  const lead = bytes[i];
  if (lead < 0x80) return [lead, 1];
  const length = lead >= 0xf0 && lead < 0xf5 ? 4 : lead >= 0xe0 && lead < 0xf0 ? 3 : lead >= 0xc2 && lead < 0xe0 ? 2 : 0;
  if (!length || i + length > end) return [REPLACEMENT, 1];
  let point = lead & (0x7f >> length);
  for (let k = 1; k < length; k++) {
    const next = bytes[i + k];
    if ((next & 0xc0) !== 0x80) return [REPLACEMENT, 1];
    point = (point << 6) | (next & 0x3f);
  }
  const isOverlong = point < (length === 4 ? 0x10000 : length === 3 ? 0x800 : 0x80);
  const isSurrogate = point >= 0xd800 && point < 0xe000;
  return isOverlong || isSurrogate || point > 0x10ffff ? [REPLACEMENT, 1] : [point, length];
}

/**
 * @param {string} text
 * @returns {Uint8Array}
 */
export function encodeUtf8(text) {
  const bytes = new Uint8Array(text.length * 3);
  let length = 0;
  for (let i = 0; i < text.length; i++) {
    let point = /** @type {number} */ (text.codePointAt(i));
    if (point > 0xffff) i++;
    else if (point >= 0xd800 && point < 0xe000) point = REPLACEMENT;
    if (point < 0x80) {
      bytes[length++] = point;
      continue;
    }
    const extra = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    bytes[length++] = ((0xff00 >> (extra + 1)) & 0xff) | (point >> (6 * extra));
    for (let k = extra - 1; k >= 0; k--) bytes[length++] = 0x80 | ((point >> (6 * k)) & 0x3f);
  }
  return bytes.subarray(0, length);
}
