/**
 * A directory server that says what a test has it say, for what no honest one of this system does: groups in parts as Active
 * Directory gives them, parts that lead nowhere, referrals. It takes every bind, and speaks as much of RFC 4511 as that takes.
 */
import { createServer, type AddressInfo, type Socket } from 'node:net';

/** A search that somebody asked for. */
export interface Asked {
  readonly base: string;
  /** Entries that it takes at most, as a sign-in says; undefined for all. */
  readonly most: number | undefined;
  readonly attributes: readonly string[];
  /** Whether it is for those who are disabled alone. */
  readonly isForDisabled: boolean;
}

export interface Answered {
  readonly entries?: readonly { readonly dn: string; readonly [attribute: string]: string | readonly string[] }[];
  /** Where the server says the answer is: in references beside the entries, and by the result. */
  readonly referral?: string;
}

const [SEQUENCE, SET, INTEGER, OCTETS, ENUMERATED] = [0x30, 0x31, 0x02, 0x04, 0x0a];
const [BIND, UNBIND, SEARCH] = [0x60, 0x42, 0x63];
const [BOUND, ENTRY, DONE, REFERENCE, REFERRAL] = [0x61, 0x64, 0x65, 0x73, 0xa3];

export async function startScriptedLdap(
  context: { after(end: () => void): void },
  answer: (asked: Asked) => Answered,
): Promise<{ readonly url: string }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let received: Buffer = Buffer.alloc(0);
    socket.on('error', () => socket.destroy());
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes]);
      for (;;) {
        const message = valueAt(received, 0);
        if (message === undefined) return;
        socket.write(replyTo(message.value, answer));
        received = received.subarray(message.end);
      }
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `ldap://localhost:${(server.address() as AddressInfo).port}` };
}

function replyTo(message: Buffer, answer: (asked: Asked) => Answered): Buffer {
  const [id, operation] = valuesOf(message);
  const reply = (...parts: Buffer[]) =>
    Buffer.concat(parts.map((part) => ber(SEQUENCE, ber(INTEGER, id?.value ?? Buffer.of(0)), part)));
  if (operation?.tag === BIND) return reply(ber(BOUND, result(0)));
  if (operation?.tag === UNBIND) return Buffer.alloc(0);
  if (operation?.tag !== SEARCH) return reply(ber(DONE, result(2)));
  const fields = valuesOf(operation.value);
  const most = fields[3]?.value.readUIntBE(0, fields[3].value.length);
  const asked = {
    most: most === 0 ? undefined : most,
    base: fields[0]?.value.toString() ?? '',
    isForDisabled: fields[6]?.value.includes('nsAccountLock') === true,
    attributes: valuesOf(fields[7]?.value ?? Buffer.alloc(0)).map(({ value }) => value.toString()),
  };
  const { entries = [], referral } = answer(asked);
  const found = entries.map(({ dn, ...attributes }) =>
    ber(ENTRY, text(dn), ber(SEQUENCE, ...Object.entries(attributes).map(attributeOf))),
  );
  if (referral === undefined) return reply(...found, ber(DONE, result(0)));
  return reply(...found, ber(REFERENCE, text(referral)), ber(DONE, result(10), ber(REFERRAL, text(referral))));
}

function attributeOf([name, values]: [string, string | readonly string[]]): Buffer {
  return ber(SEQUENCE, text(name), ber(SET, ...[values].flat().map(text)));
}

function result(code: number): Buffer {
  return Buffer.concat([ber(ENUMERATED, Buffer.of(code)), text(''), text('')]);
}

function text(value: string): Buffer {
  return ber(OCTETS, Buffer.from(value));
}

function ber(tag: number, ...parts: readonly Buffer[]): Buffer {
  const value = Buffer.concat(parts);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(value.length);
  return Buffer.concat([Buffer.of(tag, 0x84), length, value]);
}

interface Value {
  readonly tag: number;
  readonly value: Buffer;
  readonly end: number;
}

/** Undefined where it is not whole yet. */
function valueAt(bytes: Buffer, at: number): Value | undefined {
  const [tag, first] = [bytes[at], bytes[at + 1]];
  if (tag === undefined || first === undefined) return undefined;
  const more = first < 0x80 ? 0 : first & 0x7f;
  if (bytes.length < at + 2 + more) return undefined;
  const start = at + 2 + more;
  const length = more === 0 ? first : bytes.readUIntBE(at + 2, more);
  return bytes.length < start + length
    ? undefined
    : { tag, value: bytes.subarray(start, start + length), end: start + length };
}

function valuesOf(bytes: Buffer): Value[] {
  const values: Value[] = [];
  for (let at = 0; ;) {
    const value = valueAt(bytes, at);
    if (value === undefined) return values;
    values.push(value);
    at = value.end;
  }
}
