/** The body of a DAV request: bytes as they came, inflated within bounds, and read as XML where XML is meant. */
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { DavRefusal } from './dav-refusal.ts';
import { rested, type Payer } from '../time-slicer.ts';
import { readLongXml, readXml, STEP_LENGTH, type XmlElement } from './xml/xml-reader.ts';

/** An XML body: four times what may be kept of a resource's properties. [413] */
export const XML_BYTES_MAX = 256 * 1024;
/** A multiget's body, which names every object it asks for: 20,000 hrefs of 200 bytes. [413] */
export const MULTIGET_BYTES_MAX = 4 * 1024 * 1024;
/** From this length on whoever asks pays for the reading, also of what is refused then: 48 KiB of terms take some 4 ms. */
export const XML_PAID_BYTES = 8 * 1024;
/** Where the name of the root element stands in any document: behind the declaration and a comment or two. */
const ROOT_WITHIN_BYTES = 2048;

const DECODERS: Readonly<Record<string, (bytes: Uint8Array, options: { maxOutputLength: number }) => Promise<Buffer>>> =
  {
    gzip: promisify(gunzip),
    'x-gzip': promisify(gunzip),
    deflate: promisify(inflate),
    br: promisify(brotliDecompress),
  };

/**
 * The body without its content encoding.
 * @throws DavRefusal 413 beyond `bytesMax` (a bomb is not unpacked further), 415 for an unknown encoding, 400 for bytes
 * that are not in it.
 */
export async function inflateBody(bytes: Buffer, encoding: string | undefined, bytesMax: number): Promise<Buffer> {
  if (bytes.length > bytesMax) throw tooLarge(bytesMax);
  const name = encoding?.trim().toLowerCase() ?? '';
  if (name === '' || name === 'identity') return bytes;
  const decode = Object.hasOwn(DECODERS, name) ? DECODERS[name] : undefined;
  if (decode === undefined) {
    throw new DavRefusal(415, 'The body may be encoded with gzip, deflate or br.', {
      headers: { 'accept-encoding': 'gzip, deflate, br' },
    });
  }
  try {
    return await decode(bytes, { maxOutputLength: bytesMax });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(bytesMax);
    throw new DavRefusal(400, `The body is not valid ${name}.`);
  }
}

/**
 * The root of an XML body; undefined for an empty body. A long one is read at the cost of the payer, where one is given.
 * @throws DavRefusal 413, and as `readXml` does.
 */
export async function readXmlBody(bytes: Buffer, payer?: Payer): Promise<XmlElement | undefined> {
  if (bytes.length === 0) return undefined;
  if (bytes.length > XML_BYTES_MAX) {
    const isMultiget = bytes.subarray(0, ROOT_WITHIN_BYTES).includes('calendar-multiget');
    if (!isMultiget || bytes.length > MULTIGET_BYTES_MAX) throw tooLarge(XML_BYTES_MAX);
  }
  if (payer === undefined || bytes.length < XML_PAID_BYTES) return await read(bytes, undefined);
  await rested(payer);
  const began = performance.now();
  try {
    return await read(bytes, payer);
  } finally {
    // A body of one step holds the thread all the while; a longer one is charged by its slices.
    if (bytes.length <= STEP_LENGTH) payer.budgets.charge(payer.user, performance.now() - began);
  }
}

async function read(bytes: Buffer, payer: Payer | undefined): Promise<XmlElement> {
  return bytes.length <= STEP_LENGTH ? readXml(bytes) : await readLongXml(bytes, payer);
}

function tooLarge(bytesMax: number): DavRefusal {
  return new DavRefusal(413, `The body may have ${bytesMax} bytes.`);
}
