// The script of a worker that holds a session (`worker: true`) in a page.

import { platform } from '../js/env/web.js';
import { serveSession } from '../js/env/host.js';
import { port } from './port.js';

serveSession(platform, port);
