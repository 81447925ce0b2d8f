/** A camera and a microphone for pages of tests, and a network between pages of one machine. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** As small as a picture may be that is as wide as that of a call: each is coded and read by the processor that does all else here. */
const [WIDTH, HEIGHT] = [160, 90];

export interface Camera {
  /** What Chromium is started with. */
  readonly flags: readonly string[];
  remove(): void;
}

export function makeCamera(): Camera {
  const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
  const film = join(folder, 'camera.y4m');
  // Two pictures in turn, a dark and a light one, five a second: a quarter of what a camera makes.
  const frames = [64, 192].map((light) =>
    Buffer.concat([
      Buffer.from('FRAME\n'),
      Buffer.alloc(WIDTH * HEIGHT, light),
      Buffer.alloc((WIDTH * HEIGHT) / 2, 128),
    ]),
  );
  writeFileSync(film, Buffer.concat([Buffer.from(`YUV4MPEG2 W${WIDTH} H${HEIGHT} F5:1 Ip A1:1 C420\n`), ...frames]));
  return {
    flags: [
      '--use-fake-ui-for-media-stream',
      '--use-fake-device-for-media-stream',
      `--use-file-for-fake-video-capture=${film}`,
      '--allow-loopback-in-peer-connection',
      '--disable-features=WebRtcHideLocalIpsWithMdns',
      '--autoplay-policy=no-user-gesture-required',
    ],
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
