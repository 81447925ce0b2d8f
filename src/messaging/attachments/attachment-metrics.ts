/** What one thread counts of attachments: uploads, their bytes, what was refused, and what the virus scanner said. */
import type { ErrorCode } from '#src/protocol/errors.ts';
import { oneSample, type Sample } from '#src/telemetry/metrics.ts';
import { LabelledCounts } from '#src/telemetry/labelled-counts.ts';
import type { ScalarName } from '#src/telemetry/metric-table.ts';

type Samples = Readonly<Partial<Record<ScalarName, Sample[]>>>;

export class AttachmentMetrics {
  readonly #uploads = new LabelledCounts();
  readonly #refusals = new LabelledCounts();
  readonly #scans = new LabelledCounts();
  #bytes = 0;

  /** An upload began, or became an attachment. */
  upload(step: 'created' | 'finished'): void {
    this.#uploads.add(step);
  }

  /** Bytes came in, whether or not they are kept. */
  received(bytes: number): void {
    this.#bytes += bytes;
  }

  /** A request about attachments was refused. */
  refused(code: ErrorCode): void {
    this.#refusals.add(code);
  }

  scanned(result: 'clean' | 'infected' | 'unavailable'): void {
    this.#scans.add(result);
  }

  /** With those of the shard that writes attachments, where this thread is that one. */
  read(ofDesk: Samples = {}): Samples {
    return {
      ...ofDesk,
      parley_attachments_received_bytes_total: oneSample(this.#bytes),
      parley_attachments_refusals_total: this.#refusals.samples(),
      parley_attachments_scans_total: this.#scans.samples(),
      parley_attachments_uploads_total: this.#uploads.samples(),
    };
  }
}
