/** The icons of the app as an installed one, drawn from its mark: browsers want pictures of points and of fixed sizes. */
import sharp from 'sharp';

/** As `src/web/kit/logo.tsx` draws it, on a ground of the app's colour. `room` is the part of a side that is left free on each side. */
function drawing(room: number, radius: number): Buffer {
  const scale = 1 - 2 * room;
  return Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
    <rect width="32" height="32" rx="${radius}" fill="#1864ab"/>
    <g transform="translate(${room * 32} ${room * 32}) scale(${scale})">
      <path fill="#fff" d="M6 3h20a4 4 0 0 1 4 4v11a4 4 0 0 1-4 4H15l-7 7v-7H6a4 4 0 0 1-4-4V7a4 4 0 0 1 4-4z"/>
      <circle cx="11.5" cy="12.5" r="2.6" fill="#1864ab"/>
      <circle cx="20.5" cy="12.5" r="2.6" fill="#1864ab"/>
    </g>
  </svg>`);
}

/** Names of files beside the page, with PNG of so many points a side. A maskable one is cut to any form by who shows it. */
export async function appIcons(): Promise<ReadonlyMap<string, Buffer>> {
  const made = async (svg: Buffer, size: number) =>
    await sharp(svg, { density: 72 * (size / 32) })
      .resize(size, size)
      .png({ compressionLevel: 9 })
      .toBuffer();
  const plain = drawing(0.17, 7);
  return new Map([
    ['icon-192.png', await made(plain, 192)],
    ['icon-512.png', await made(plain, 512)],
    ['icon-maskable-512.png', await made(drawing(0.24, 0), 512)],
  ]);
}
