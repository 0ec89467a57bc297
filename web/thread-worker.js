// The script of a worker thread in a page.

import { serveThread } from '../js/env/host.js';
import { port } from './port.js';

serveThread(port);
