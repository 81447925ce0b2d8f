/** `parley tls self-signed`: a certificate for a first look over TLS. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, networkInterfaces } from 'node:os';
import { join, resolve } from 'node:path';
import { systemClock } from '#src/base/clock.ts';
import { variableOf } from '#src/config.ts';
import { CommandError } from './command-error.ts';

/** The names and addresses of this machine, as people on its network write them. */
function ownHosts(): string[] {
  const addresses = Object.values(networkInterfaces()).flatMap((faces) => faces ?? []);
  // Addresses of one link alone are written with the name of the link, which no certificate can hold.
  const global = addresses.map(({ address }) => address).filter((address) => !/^fe[89ab]/i.test(address));
  return [...new Set(['localhost', hostname(), '127.0.0.1', '::1', ...global])];
}

/**
 * Writes a new certificate and its key into a folder, and answers what to say of it, a line each.
 * @throws CommandError where one of the files is there already, or cannot be written.
 */
export async function writeSelfSigned(out: string, hosts: string | undefined): Promise<readonly string[]> {
  const { makeSelfSigned, SELF_SIGNED_DAYS } = await import('#src/tls/self-signed.ts');
  const names = hosts === undefined ? ownHosts() : hosts.split(',').map((host) => host.trim());
  const { certificate, fingerprint, key } = await makeSelfSigned(names, systemClock.now());
  const folder = resolve(out);
  const [certificatePath, keyPath] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')];
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(keyPath, key, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    throw new CommandError(`${keyPath} cannot be written: ${(error as Error).message}`, { cause: error });
  }
  try {
    writeFileSync(certificatePath, certificate, { flag: 'wx' });
  } catch (error) {
    rmSync(keyPath);
    throw new CommandError(`${certificatePath} cannot be written: ${(error as Error).message}`, { cause: error });
  }
  return [
    `For ${names.join(', ')}, for ${SELF_SIGNED_DAYS} days. Start the server with:`,
    `  ${variableOf('tlsCertificateFile')}=${certificatePath}`,
    `  ${variableOf('tlsKeyFile')}=${keyPath}`,
    'Nobody vouches for it, so browsers warn. Compare what they show with its SHA-256 fingerprint:',
    `  ${fingerprint}`,
  ];
}
