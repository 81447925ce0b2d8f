/** How the host is, as the agent reports it: load, memory, disks, failed units, last errors, certificates. */
import { X509Certificate } from 'node:crypto';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, statfs } from 'node:fs/promises';
import { freemem, hostname, loadavg, totalmem, uptime } from 'node:os';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { formatInstant } from '#src/base/time.ts';
import { LOG_LINE_LENGTH_MAX, type NodeHealth } from '#src/protocol/hosts/nodes.ts';

/** How long a program of systemd may take to answer. */
const SYSTEMD_MILLIS = 5_000;

/** Error lines of one health report: enough to see that something is wrong; the journal has the rest. */
const ERRORS_SHOWN = 20;

/** The protocol's bound of failed units and of their names. */
const UNITS_MAX = 64;
const UNIT_LENGTH_MAX = 256;

export interface HealthOptions {
  readonly agentVersion: string;
  /** Folders whose disks are reported. */
  readonly folders: readonly string[];
  /** Certificate files in PEM. */
  readonly certificates: readonly string[];
  /** Whether systemd runs here. */
  readonly hasSystemd: boolean;
}

const run = promisify(execFile);

/** Whether this host was started by systemd, as sd_booted(3) decides it. */
export function hasSystemd(): boolean {
  return existsSync('/run/systemd/system');
}

/** A health report. A part that cannot be read is left out: half a report is better than a silent node. */
export async function readHealth(options: HealthOptions): Promise<NodeHealth> {
  const disks = await Promise.all(options.folders.map(diskOf));
  const certificates = await Promise.all(options.certificates.map(certificateOf));
  return {
    agent_version: options.agentVersion,
    uptime_seconds: uptime(),
    load: loadavg(),
    memory: { total_bytes: totalmem(), available_bytes: freemem() },
    disks: disks.flat(),
    units_failed: options.hasSystemd ? await failedUnits() : [],
    certificates: certificates.flat(),
    errors: options.hasSystemd ? await lastErrors() : [],
  };
}

async function diskOf(path: string): Promise<NodeHealth['disks']> {
  try {
    const { bavail, blocks, bsize } = await statfs(path);
    return [{ path, total_bytes: blocks * bsize, free_bytes: bavail * bsize }];
  } catch {
    return [];
  }
}

async function certificateOf(path: string): Promise<NodeHealth['certificates']> {
  try {
    const { validTo } = new X509Certificate(await readFile(path));
    return [{ name: basename(path), not_after: formatInstant(Date.parse(validTo)) }];
  } catch {
    return [];
  }
}

async function failedUnits(): Promise<string[]> {
  const text = await output('systemctl', ['list-units', '--failed', '--plain', '--no-legend', '--no-pager']);
  const units = text.split('\n').flatMap((line) => line.trim().split(/\s+/)[0] || []);
  return units.slice(0, UNITS_MAX).map((unit) => unit.slice(0, UNIT_LENGTH_MAX));
}

/** The last lines of the journal at the level of an error, in the form of the protocol. */
async function lastErrors(): Promise<NodeHealth['errors']> {
  const words = ['-p', 'err', '-n', String(ERRORS_SHOWN), '--no-pager', '-o', 'json', '--quiet'];
  const lines = (await output('journalctl', words)).split('\n').filter((line) => line !== '');
  return lines.flatMap(errorOf).slice(-ERRORS_SHOWN);
}

function errorOf(line: string): NodeHealth['errors'] {
  try {
    const entry = JSON.parse(line) as Record<string, unknown>;
    const { MESSAGE: message, _SYSTEMD_UNIT: unit, __REALTIME_TIMESTAMP: micros } = entry;
    // journald writes a message that is not text as a list of bytes; it says nothing to a reader.
    if (typeof message !== 'string') return [];
    const at = formatInstant(Math.floor(Number(micros) / 1000));
    const text = message.replaceAll('\0', '').toWellFormed().slice(0, LOG_LINE_LENGTH_MAX).toWellFormed();
    const from = typeof unit === 'string' ? { unit: unit.slice(0, 128) } : {};
    return [{ at, host: hostname(), ...from, level: 'error', line: text }];
  } catch {
    return [];
  }
}

async function output(program: string, words: readonly string[]): Promise<string> {
  try {
    const { stdout } = await run(program, [...words], {
      shell: false,
      timeout: SYSTEMD_MILLIS,
      env: { ...process.env, LC_ALL: 'C.UTF-8' },
    });
    return stdout;
  } catch {
    return '';
  }
}
