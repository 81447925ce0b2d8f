/** Starts the browser console in the page that loaded this module. */
import { Application } from './application.ts';

const { api = '', protocol = '' } = document.documentElement.dataset;
const root = document.getElementById('application');
if (root === null) throw new Error('The page has no place for the console.');
void new Application({ root, prefix: api, protocol }).start();
