// The one error class of linnet. `code` is stable and meant for programs, `message` is a sentence for people; `node`,
// `op` and `opset` name the place in the model where one is known.

/** Codes that the core raises (src/base/status.h) and those that only the JavaScript layer knows. */
export const ERROR_CODES = Object.freeze([
  'INVALID_ARGUMENT', 'INVALID_MODEL', 'INVALID_GRAPH', 'INVALID_ATTRIBUTE', 'INVALID_TYPE', 'INVALID_SHAPE', 'INVALID_VALUE',
  'INVALID_FEED', 'UNSUPPORTED_OP', 'UNSUPPORTED_OPSET', 'UNSUPPORTED', 'EXTERNAL_DATA', 'LIMIT_EXCEEDED', 'OUT_OF_MEMORY', 'ABORTED',
  'SESSION_BUSY', 'THREAD_DIED', 'INTERNAL',
  // A model or wasm file could not be read; the session was released.
  'LOAD_FAILED', 'WASM_FAILED', 'SESSION_RELEASED',
]);

export class LinnetError extends Error {
  /**
   * @param {string} code one of ERROR_CODES
   * @param {string} message
   * @param {{ node?: string, op?: string, opset?: number, cause?: unknown }} [details]
   */
  constructor(code, message, details = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'LinnetError';
    this.code = code;
    /** Name of the node, where the error belongs to one. */
    this.node = details.node || undefined;
    /** Operator of that node, with its domain unless that is the standard's. */
    this.op = details.op || undefined;
    /** Operator-set version that the node was read with. */
    this.opset = details.opset || undefined;
  }
}

/**
 * Throws a LinnetError unless the condition holds. A message that takes work to write is given as a function.
 * @param {unknown} condition
 * @param {string} code
 * @param {string | (() => string)} message
 * @returns {asserts condition}
 */
export function check(condition, code, message) {
  if (!condition) throw new LinnetError(code, typeof message === 'string' ? message : message());
}

/**
 * The error that an aborted signal stands for: ABORTED, with the signal's reason as its cause.
 * @param {AbortSignal} signal
 */
export function abortError(signal) {
  return new LinnetError('ABORTED', 'the caller asked to stop', { cause: signal.reason });
}
