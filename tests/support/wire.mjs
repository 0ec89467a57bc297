// The protobuf wire format, as far as the tests need it: a walk over the fields of a message, and a writer.

const text = new TextDecoder();
const encoder = new TextEncoder();

/** Reads a varint at `at`; resolves to the value (a BigInt beyond 2^53) and the position after it. */
function varint(bytes, at) {
  let value = 0;
  let scale = 1;
  for (let i = at; i < at + 7; i++) {
    value += (bytes[i] & 0x7f) * scale;
    if (bytes[i] < 0x80) return [value, i + 1];
    scale *= 128;
  }
  let big = 0n;
  for (let i = at, shift = 0n; ; i++, shift += 7n) {
    big |= BigInt(bytes[i] & 0x7f) << shift;
    if (bytes[i] < 0x80) return [big, i + 1];
    if (i >= bytes.length) throw new Error('truncated varint');
  }
}

/** Yields [field number, wire type, value]: a number or BigInt for wire type 0, bytes for the others. */
export function* fields(bytes) {
  let at = 0;
  while (at < bytes.length) {
    const [key, next] = varint(bytes, at);
    const wire = key & 7;
    let value;
    if (wire === 0) [value, at] = varint(bytes, next);
    else {
      const [length, begin] = wire === 2 ? varint(bytes, next) : [wire === 5 ? 4 : 8, next];
      if (begin + length > bytes.length) throw new Error('truncated field');
      value = bytes.subarray(begin, begin + length);
      at = begin + length;
    }
    yield [key >>> 3, wire, value];
  }
}

/** The varints of a packed field, or the one of an unpacked field. */
export function* varints(wire, value) {
  if (wire === 0) return yield value;
  for (let at = 0; at < value.length;) {
    const [item, next] = varint(value, at);
    at = next;
    yield item;
  }
}

export const string = (bytes) => text.decode(bytes);
/** A varint as the int64 that it stands for. */
export const int64 = (value) => BigInt.asIntN(64, BigInt(value));

/** Writes one message: a chain of calls, then `bytes`. */
export class Message {
  #parts = [];

  varint(field, value) {
    return this.raw([...encodeVarint((field << 3) | 0), ...encodeVarint(value)]);
  }

  bytes(field, value) {
    this.raw([...encodeVarint((field << 3) | 2), ...encodeVarint(value.length)]);
    return this.raw(value);
  }

  string(field, value) {
    return this.bytes(field, encoder.encode(value));
  }

  message(field, message) {
    return this.bytes(field, message.finish());
  }

  /** A field as fields() gives it: a number for wire type 0, bytes for the others. */
  field(field, wire, value) {
    if (wire === 0) return this.varint(field, value);
    if (wire === 2) return this.bytes(field, value);
    return this.raw([...encodeVarint((field << 3) | wire), ...value]);
  }

  float(field, value) {
    return this.raw([...encodeVarint((field << 3) | 5), ...new Uint8Array(Float32Array.of(value).buffer)]);
  }

  /** Bytes of whole fields. */
  raw(bytes) {
    this.#parts.push(bytes);
    return this;
  }

  finish() {
    const result = new Uint8Array(this.#parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of this.#parts) {
      result.set(part, at);
      at += part.length;
    }
    return result;
  }
}

function encodeVarint(value) {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  return [...bytes, Number(rest)];
}
