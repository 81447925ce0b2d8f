/** How far an environment has the stream of its batches, as its own bytes. */

export interface StreamPosition {
  /** The number of the last batch; 0 before the first. */
  readonly batch: number;
  /** The stream's sequence of that batch's last message. */
  readonly sequence: number;
}

const CLUSTER_BYTES = 8;
const NUMBER_BYTES = 6;

/** Sixteen hex digits name a cluster: a position of another one means nothing here. */
export const CLUSTER_ID = /^[0-9a-f]{16}$/;

export function encodePosition(cluster: string, { batch, sequence }: StreamPosition): Buffer {
  const bytes = Buffer.alloc(CLUSTER_BYTES + 2 * NUMBER_BYTES);
  bytes.write(cluster, 'hex');
  bytes.writeUIntBE(batch, CLUSTER_BYTES, NUMBER_BYTES);
  bytes.writeUIntBE(sequence, CLUSTER_BYTES + NUMBER_BYTES, NUMBER_BYTES);
  return bytes;
}

/** The position in that cluster: before its first batch where there is none, or one of another cluster. */
export function decodePosition(cluster: string, bytes: Buffer | undefined): StreamPosition {
  if (bytes === undefined || bytes.toString('hex', 0, CLUSTER_BYTES) !== cluster) return { batch: 0, sequence: 0 };
  return {
    batch: bytes.readUIntBE(CLUSTER_BYTES, NUMBER_BYTES),
    sequence: bytes.readUIntBE(CLUSTER_BYTES + NUMBER_BYTES, NUMBER_BYTES),
  };
}
