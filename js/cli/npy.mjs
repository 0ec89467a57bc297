// The .npy format of NumPy, versions 1 and 2 read, version 1 written.

const MAGIC = '\x93NUMPY';
const TYPES = {
  f4: 'float32', f8: 'float64', f2: 'float16', i1: 'int8', i2: 'int16', i4: 'int32', i8: 'int64', u1: 'uint8', u2: 'uint16', u4: 'uint32',
  u8: 'uint64', b1: 'bool', c8: 'complex64', c16: 'complex128',
};
const CODES = Object.fromEntries(Object.entries(TYPES).map(([code, type]) => [type, code]));

/**
 * Reads an array: { type, dims, bytes }, the bytes row-major and little-endian.
 * @param {Uint8Array} file
 */
export function readNpy(file) {
  const text = (/** @type {number} */ begin, /** @type {number} */ end) => String.fromCharCode(...file.subarray(begin, end));
  if (text(0, 6) !== MAGIC) throw new Error('not an .npy file');
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const isLong = file[6] >= 2;
  const begin = isLong ? 12 : 10;
  const end = begin + (isLong ? view.getUint32(8, true) : view.getUint16(8, true));
  const header = text(begin, end);
  const [, order, code] = /'descr':\s*'([<>|=]?)([a-z]\d+)'/.exec(header) ?? [];
  const shape = /'shape':\s*\(([^)]*)\)/.exec(header)?.[1];
  const type = TYPES[/** @type {keyof typeof TYPES} */ (code)];
  if (!type || shape === undefined) throw new Error(`an .npy file that linnet cannot read: ${header.trim()}`);
  if (order === '>') throw new Error('a big-endian .npy file');
  if (/'fortran_order':\s*True/.test(header)) throw new Error('an .npy file in Fortran order: save it with numpy.ascontiguousarray');
  const dims = shape.split(',').map((each) => each.trim()).filter(Boolean).map(Number);
  return { type, dims, bytes: new Uint8Array(file.subarray(end)) };
}

/**
 * @param {string} type
 * @param {readonly number[]} dims
 * @param {ArrayBufferView} data
 */
export function writeNpy(type, dims, data) {
  const code = CODES[type];
  if (!code) throw new Error(`.npy has no type for ${type}`);
  const order = /[a-z]1$/.test(code) ? '|' : '<';
  const shape = dims.length === 1 ? `(${dims[0]},)` : `(${dims.join(', ')})`;
  const dictionary = `{'descr': '${order}${code}', 'fortran_order': False, 'shape': ${shape}, }`;
  const padding = 64 - ((10 + dictionary.length + 1) % 64);
  const header = `${dictionary}${' '.repeat(padding % 64)}\n`;
  const result = new Uint8Array(10 + header.length + data.byteLength);
  result.set(Uint8Array.from(`${MAGIC}\x01\x00`, (char) => char.charCodeAt(0)));
  new DataView(result.buffer).setUint16(8, header.length, true);
  result.set(Uint8Array.from(header, (char) => char.charCodeAt(0)), 10);
  result.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), 10 + header.length);
  return result;
}
