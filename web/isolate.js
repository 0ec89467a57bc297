// Threads on hosts that cannot set headers: a service worker adds the headers that isolate the page. The first visit
// reloads once, when the service worker has taken over. Where headers can be set, set them, and leave this out:
//
//   Cross-Origin-Opener-Policy: same-origin
//   Cross-Origin-Embedder-Policy: require-corp

const TRIED = 'linnet-isolate';

/**
 * Isolates the page. Resolves to true when it is isolated, to false when it cannot be; in between it may reload.
 * @param {{ worker?: string | URL, scope?: string }} [options] `worker` is where isolation-worker.js lies, by default
 *   at the root of the site
 * @returns {Promise<boolean>}
 */
export async function isolate({ worker = '/isolation-worker.js', scope } = {}) {
  if (globalThis.crossOriginIsolated) {
    globalThis.sessionStorage.removeItem(TRIED);
    return true;
  }
  if (!globalThis.isSecureContext || !navigator.serviceWorker) return false;
  await navigator.serviceWorker.register(worker, scope === undefined ? {} : { scope });
  await navigator.serviceWorker.ready;
  if (globalThis.sessionStorage.getItem(TRIED)) return false;
  globalThis.sessionStorage.setItem(TRIED, 'yes');
  location.reload();
  return new Promise(() => {});
}
