/** Isolates the page by a service worker; resolves to whether it is isolated. The page may reload once in between. */
export declare function isolate(options?: { worker?: string | URL; scope?: string }): Promise<boolean>;
