// ESLint finds mistakes, not style. js/ may use what every engine has; what more a page, a worker or Node offers is
// for js/env, web, tools and tests.

import js from '@eslint/js';

const named = (text) => Object.fromEntries(text.split(/\s+/).filter(Boolean).map((name) => [name, 'readonly']));

const everywhere = named('WebAssembly globalThis console queueMicrotask Float16Array');
const platform = named(`
  AbortController AbortSignal Blob Buffer DOMException Event EventTarget File FormData Headers ImageBitmap ImageData Image
  HTMLImageElement HTMLCanvasElement HTMLVideoElement VideoFrame OffscreenCanvas MessageChannel MessagePort ReadableStream Request
  Response TextDecoder TextEncoder URL URLSearchParams Worker addEventListener caches clearInterval clearTimeout
  clients createImageBitmap crossOriginIsolated document fetch indexedDB location localStorage navigator performance postMessage process
  registration removeEventListener requestAnimationFrame self setImmediate setInterval setTimeout skipWaiting structuredClone
  window close crypto btoa atob require Deno Bun`);

export default [
  { ignores: ['dist/', 'build/', '.toolchain/', 'node_modules/', 'tests/data/'] },
  js.configs.recommended,
  {
    files: ['**/*.js', '**/*.mjs'],
    languageOptions: { ecmaVersion: 2024, sourceType: 'module', globals: everywhere },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      'array-callback-return': 'error',
      'consistent-return': 'off',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-constructor-return': 'error',
      'no-eval': 'error',
      'no-implied-eval': 'error',
      'no-new-func': 'error',
      'no-promise-executor-return': 'off',
      'no-self-compare': 'error',
      'no-template-curly-in-string': 'error',
      'no-unmodified-loop-condition': 'error',
      'no-unused-vars': ['error', { args: 'after-used', argsIgnorePattern: '^_', caughtErrors: 'none' }],
      'no-var': 'error',
      'prefer-const': ['error', { destructuring: 'all' }],
      'require-atomic-updates': 'off',
    },
  },
  {
    files: ['js/env/**', 'js/index*.js', 'js/cli*/**', 'js/cli*.mjs', 'web/**', 'demo/**', 'tools/**', 'tests/**', 'bench/**', '*.mjs'],
    languageOptions: { globals: platform },
  },
];
