/** What `npm start` runs: the server in the place of this process, under its number, with what the engine must be told before it begins. */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { engineOptions } from './engine-options.ts';

const { argv, env, execArgv, execPath } = process;
if (process.execve === undefined) throw new Error('This needs Node 22.15 or later, on a system that has execve.');
const options = engineOptions(availableParallelism(), env['NODE_OPTIONS']);
const main = join(import.meta.dirname, '..', 'main.ts');
process.execve(execPath, [execPath, ...execArgv, ...options, main, ...argv.slice(2)], env);
