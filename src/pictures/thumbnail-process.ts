/**
 * A process that makes thumbnails, one at a time: apart from the server, so that it can be killed whatever a picture
 * does to the libraries that open it. It reads the one file that it is told to, and answers with a picture or nothing.
 */
import { setPriority } from 'node:os';
import sharp from 'sharp';
import { Content } from '#storage/attachments/blob-contents.ts';
import type { OpenedContent } from '#storage/attachments/blob-sealing.ts';

/** What the process is told. */
export interface ThumbnailOrder {
  /** Where the picture is, or its bytes. */
  readonly source: StoredPicture | Uint8Array;
  /** The format that the content's first bytes said; whichever it is without it. */
  readonly format?: string | undefined;
  /** Pixels of the longer side; with `isSquare` of both, what is beyond the middle cut off. */
  readonly size: number;
  readonly isSquare?: true;
  /** A picture that moves stays one, of at most so many frames; of any other the first frame is taken. */
  readonly framesMax?: number;
}

export interface StoredPicture {
  readonly path: string;
  readonly bytes: number;
  /** Of a sealed content: what opens it, and nothing else. */
  readonly opened: OpenedContent | undefined;
}

/** What it answers: the thumbnail as WebP, or that there is none. */
export type ThumbnailResult = { readonly picture: Uint8Array } | { readonly fault: string };

/** Pixels of a picture that is opened: 64 megapixels, a quarter of a gigabyte where a format has to be opened whole. */
export const PIXELS_MAX = 64_000_000;
/** Quality of WebP at which nobody sees the difference in a small picture. */
const QUALITY = 80;
/** Messages come first. */
const NICENESS = 10;

setPriority(NICENESS);
// Whoever made the process is gone.
process.on('disconnect', () => process.exit(0));
sharp.cache(false);
sharp.concurrency(1);
// What a file is, is not for the file to say: nothing that draws, links or runs is ever opened (SVG, PDF and so on).
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: [
    'VipsForeignLoadJpegBuffer',
    'VipsForeignLoadPngBuffer',
    'VipsForeignLoadWebpBuffer',
    'VipsForeignLoadNsgifBuffer',
    'VipsForeignLoadHeifBuffer',
  ],
});

process.on('message', (order: ThumbnailOrder) => {
  void make(order).then(
    (picture) => answer({ picture }),
    (error: unknown) => answer({ fault: (error as Error).message }),
  );
});

function answer(result: ThumbnailResult): void {
  process.send?.(result);
}

async function make({ format, framesMax, isSquare, size, source }: ThumbnailOrder): Promise<Buffer> {
  const picture = source instanceof Uint8Array ? source : await readWhole(source);
  const options = { limitInputPixels: PIXELS_MAX, failOn: 'error', pages: 1, sequentialRead: true } as const;
  const { format: found, pages = 1 } = await sharp(picture, options).metadata();
  if (format !== undefined && found !== format) throw new Error(`The picture is ${found}, not ${format}.`);
  if (framesMax !== undefined && pages > framesMax) throw new Error(`The picture has ${pages} frames.`);
  // Turned as its metadata says, which is all that is taken from it: where and when it was taken goes to nobody.
  const frames = framesMax === undefined ? options : { ...options, pages };
  return await sharp(picture, frames)
    .autoOrient()
    .resize(size, size, isSquare === true ? { fit: 'cover' } : { fit: 'inside', withoutEnlargement: true })
    .webp({ quality: QUALITY })
    .toBuffer();
}

async function readWhole({ bytes, opened, path }: StoredPicture): Promise<Buffer> {
  const content = await Content.ofFile(path, opened);
  try {
    const whole = Buffer.allocUnsafe(bytes);
    let position = 0;
    for await (const chunk of content.read(0, bytes - 1)) position += chunk.copy(whole, position);
    return whole;
  } finally {
    await content.close();
  }
}
