// Images to tensors and back. Needs a canvas only for what is not ImageData already, and says so where there is none.
//
// As in onnxruntime-common: a pixel c becomes (c + bias) / mean, with mean 255 and bias 0 unless `norm` says otherwise,
// and comes back as (x - bias) * mean.

import { check, LinnetError } from '../errors.js';

/** Place of red, green, blue and alpha in each channel order; -1 where the order has none. */
const ORDERS = /** @type {Record<string, number[]>} */ ({ RGB: [0, 1, 2, -1], RGBA: [0, 1, 2, 3], BGR: [2, 1, 0, -1], RBG: [0, 2, 1, -1] });

/** @param {string} [format] */
function channelsOf(format = 'RGB') {
  const order = ORDERS[format];
  check(order, 'INVALID_ARGUMENT', `unknown image format '${format}'; known are ${Object.keys(ORDERS).join(', ')}`);
  return order;
}

/**
 * @param {number | number[] | undefined} value
 * @param {number} fallback
 */
function perChannel(value, fallback) {
  return [0, 1, 2, 3].map((i) => (Array.isArray(value) ? value[i] : value) ?? fallback);
}

/**
 * @param {number} width
 * @param {number} height
 * @returns {any}
 */
function makeCanvas(width, height) {
  const scope = /** @type {any} */ (globalThis);
  if (scope.OffscreenCanvas) return new scope.OffscreenCanvas(width, height);
  check(scope.document, 'UNSUPPORTED', 'this platform has no canvas: pass ImageData-like pixels ({ data, width, height })');
  return Object.assign(scope.document.createElement('canvas'), { width, height });
}

/**
 * The RGBA pixels of an image at the wanted size.
 * @param {any} image
 * @param {any} options
 * @returns {Promise<{ data: ArrayLike<number>, width: number, height: number }>}
 */
async function pixelsOf(image, options) {
  const scope = /** @type {any} */ (globalThis);
  if (typeof image === 'string' || image instanceof (scope.URL ?? Map)) {
    check(scope.fetch && scope.createImageBitmap, 'UNSUPPORTED', 'this platform cannot decode an image from a URL');
    const response = await scope.fetch(image);
    check(response.ok, 'LOAD_FAILED', `${image} answered ${response.status}`);
    image = await scope.createImageBitmap(await response.blob());
  }
  check(image && image.width > 0 && image.height > 0, 'INVALID_ARGUMENT',
    'an image is ImageData, an ImageBitmap, an image element or a URL');
  const width = options.resizedWidth ?? options.width ?? image.naturalWidth ?? image.width;
  const height = options.resizedHeight ?? options.height ?? image.naturalHeight ?? image.height;
  const hasPixels = image.data?.length === image.width * image.height * 4;
  if (hasPixels && width === image.width && height === image.height) return image;
  const source = hasPixels ? makeCanvas(image.width, image.height) : image;
  if (hasPixels) source.getContext('2d').putImageData(image, 0, 0);
  const context = makeCanvas(width, height).getContext('2d');
  context.drawImage(source, 0, 0, width, height);
  return context.getImageData(0, 0, width, height);
}

/**
 * @param {any} image
 * @param {any} options
 */
export async function imageToTensor(image, options = {}) {
  const { tensorFormat, tensorLayout = 'NCHW', dataType = 'float32', norm = {} } = options;
  const { data, width, height } = await pixelsOf(image, options);
  const order = channelsOf(tensorFormat);
  const channels = order[3] < 0 ? 3 : 4;
  const mean = perChannel(norm.mean, dataType === 'uint8' ? 1 : 255);
  const bias = perChannel(norm.bias, 0);
  const isChannelsLast = tensorLayout === 'NHWC';
  const area = width * height;
  const result = dataType === 'uint8' ? new Uint8Array(area * channels) : new Float32Array(area * channels);
  for (let from = 0; from < 4; from++) {
    const to = order[from];
    if (to < 0) continue;
    const begin = isChannelsLast ? to : to * area;
    const step = isChannelsLast ? channels : 1;
    for (let i = 0; i < area; i++) result[begin + i * step] = (data[i * 4 + from] + bias[from]) / mean[from];
  }
  return { type: dataType, data: result, dims: isChannelsLast ? [1, height, width, channels] : [1, channels, height, width] };
}

/**
 * The RGBA pixels of a tensor.
 * @param {{ type: string, dims: readonly number[], data: any }} tensor
 * @param {any} options
 */
function tensorToPixels(tensor, options = {}) {
  const isChannelsLast = options.tensorLayout === 'NHWC';
  const dims = tensor.dims.length === 3 ? [1, ...tensor.dims] : tensor.dims;
  check(dims.length === 4 && dims[0] === 1, 'INVALID_ARGUMENT',
    `an image tensor has dims [1, C, H, W] or [1, H, W, C], not [${tensor.dims}]`);
  const [channels, height, width] = isChannelsLast ? [dims[3], dims[1], dims[2]] : [dims[1], dims[2], dims[3]];
  const order = channels === 1 ? [0, 0, 0, -1] : channelsOf(options.format ?? (channels === 4 ? 'RGBA' : 'RGB'));
  check(channels === 1 || channels === (order[3] < 0 ? 3 : 4), 'INVALID_ARGUMENT',
    `format ${options.format} does not match a tensor of ${channels} channels`);
  const mean = perChannel(options.norm?.mean, tensor.type === 'uint8' ? 1 : 255);
  const bias = perChannel(options.norm?.bias, 0);
  const area = width * height;
  const pixels = new Uint8ClampedArray(area * 4);
  const source = tensor.data;
  for (let to = 0; to < 4; to++) {
    const from = order[to];
    const begin = isChannelsLast ? from : from * area;
    const step = isChannelsLast ? channels : 1;
    for (let i = 0; i < area; i++) pixels[i * 4 + to] = from < 0 ? 255 : (Number(source[begin + i * step]) - bias[to]) * mean[to];
  }
  return { pixels, width, height };
}

/**
 * @param {{ type: string, dims: readonly number[], data: any }} tensor
 * @param {any} [options]
 * @returns {any} ImageData
 */
export function tensorToImageData(tensor, options) {
  const { pixels, width, height } = tensorToPixels(tensor, options);
  const { ImageData } = /** @type {any} */ (globalThis);
  check(ImageData, 'UNSUPPORTED', 'this platform has no ImageData');
  return new ImageData(pixels, width, height);
}

/**
 * @param {{ type: string, dims: readonly number[], data: any }} tensor
 * @param {any} [options]
 * @returns {string}
 */
export function tensorToDataUrl(tensor, options) {
  const image = tensorToImageData(tensor, options);
  const { document } = /** @type {any} */ (globalThis);
  if (!document) throw new LinnetError('UNSUPPORTED', 'toDataURL needs a page: a worker has no canvas that makes URLs at once');
  const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height });
  canvas.getContext('2d').putImageData(image, 0, 0);
  return canvas.toDataURL();
}
