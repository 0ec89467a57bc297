// The demo page: strokes on a canvas become a 28 x 28 picture as the model expects it, and every stroke is followed by
// a guess.

import { InferenceSession, Tensor } from '../js/index.js';

const SIDE = 28;
/** The model knows digits of about this height, in the middle of the picture. */
const DIGIT = 20;
const PEN = 20;

/** @param {string} id @returns {any} */
const element = (id) => document.getElementById(id);
const paper = element('paper');
const context = paper.getContext('2d', { willReadFrequently: true });
const bars = Array.from({ length: 10 }, (_, digit) => {
  const row = document.createElement('li');
  const bar = document.createElement('i');
  row.append(String(digit), bar);
  element('bars').append(row);
  return bar;
});

let session;
try {
  session = await InferenceSession.create(new URL('digits.onnx', import.meta.url), {
    onProgress: ({ phase }) => (element('status').textContent = `Loading: ${phase} …`),
  });
  const { artifact, threads, threadsReason } = session.info;
  element('status').textContent = `Ready: ${artifact}, ${threads} thread${threads > 1 ? 's' : ''} (${threadsReason}).`;
} catch (error) {
  element('status').textContent = `It did not load: ${error.message}`;
}

function clear() {
  context.fillStyle = '#fff';
  context.fillRect(0, 0, paper.width, paper.height);
  element('guess').textContent = '\u00a0';
  for (const bar of bars) bar.style.width = '0';
}

/** The box around what is drawn, or undefined on empty paper. */
function inkBox({ data, width, height }) {
  let [left, top, right, bottom] = [width, height, -1, -1];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (data[(y * width + x) * 4] > 200) continue;
      left = Math.min(left, x);
      right = Math.max(right, x);
      top = Math.min(top, y);
      bottom = Math.max(bottom, y);
    }
  }
  return right < 0 ? undefined : { left, top, width: right - left + 1, height: bottom - top + 1 };
}

/** The drawing scaled and centred: 0 is paper, 1 is ink. */
function picture() {
  const box = inkBox(context.getImageData(0, 0, paper.width, paper.height));
  if (!box) return undefined;
  const small = new OffscreenCanvas(SIDE, SIDE).getContext('2d');
  small.fillStyle = '#fff';
  small.fillRect(0, 0, SIDE, SIDE);
  small.imageSmoothingQuality = 'high';
  const scale = DIGIT / Math.max(box.width, box.height);
  const [width, height] = [box.width * scale, box.height * scale];
  small.drawImage(paper, box.left, box.top, box.width, box.height, (SIDE - width) / 2, (SIDE - height) / 2, width, height);
  const { data } = small.getImageData(0, 0, SIDE, SIDE);
  return Float32Array.from({ length: SIDE * SIDE }, (_, i) => 1 - data[i * 4] / 255);
}

async function guess() {
  const pixels = picture();
  if (!pixels || !session) return;
  const start = performance.now();
  const { probabilities } = await session.run({ image: new Tensor(pixels, [1, 1, SIDE, SIDE]) });
  const elapsed = performance.now() - start;
  const best = probabilities.data.indexOf(Math.max(...probabilities.data));
  element('guess').textContent = `${best}, ${(100 * probabilities.data[best]).toFixed(0)} % sure`;
  bars.forEach((bar, digit) => (bar.style.width = `${10 * probabilities.data[digit]}rem`));
  element('status').textContent = `${elapsed.toFixed(2)} ms`;
}

/** Draws a sample of the training data. */
async function showSample() {
  const { range, samples } = await (await fetch(new URL('digits-samples.json', import.meta.url))).json();
  const { pixels } = samples[Math.floor(Math.random() * samples.length)];
  clear();
  const cell = paper.width / SIDE;
  pixels.forEach((value, i) => {
    const shade = 255 - Math.round((255 * value) / range);
    context.fillStyle = `rgb(${shade} ${shade} ${shade})`;
    context.fillRect((i % SIDE) * cell, Math.floor(i / SIDE) * cell, cell, cell);
  });
  await guess();
}

paper.addEventListener('pointerdown', (event) => {
  paper.setPointerCapture(event.pointerId);
  Object.assign(context, { lineWidth: PEN, lineCap: 'round', lineJoin: 'round', strokeStyle: '#000' });
  context.beginPath();
  context.moveTo(event.offsetX, event.offsetY);
  context.lineTo(event.offsetX, event.offsetY);
  context.stroke();
});
paper.addEventListener('pointermove', (event) => {
  if (!event.buttons) return;
  context.lineTo(event.offsetX, event.offsetY);
  context.stroke();
});
paper.addEventListener('pointerup', guess);
element('clear').addEventListener('click', clear);
element('sample').addEventListener('click', showSample);
clear();
element('paper').dataset.ready = 'true';
