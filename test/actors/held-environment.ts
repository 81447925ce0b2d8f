/** A lane's real environment whose commits a test can hold back, let go or let fail. */
import { Environment } from '#storage/engine/environment.ts';
import { LANE_TABLES, type LaneTable, type LaneWrite } from '#storage/engine/lane.ts';

const MAP_BYTES = 1024 ** 3;

export interface HeldCommit {
  readonly writes: readonly LaneWrite[];
  /** Lets it go to the disk. */
  go(): void;
  /** Lets it fail, with nothing written. */
  fail(error: Error): void;
}

export class HeldEnvironment extends Environment<LaneTable> {
  isHolding = false;
  /** Commits that wait to be let go, oldest first. */
  readonly held: HeldCommit[] = [];
  /** How many commits reached the disk. */
  commits = 0;

  constructor(path: string) {
    super(path, LANE_TABLES, { mapBytes: MAP_BYTES });
  }

  override async commit(writes: readonly LaneWrite[]): Promise<void> {
    if (this.isHolding) {
      await new Promise<void>((resolve, reject) => this.held.push({ writes, go: resolve, fail: reject }));
    }
    await super.commit(writes);
    this.commits += 1;
  }

  /** Stops holding and lets everything go. */
  letGo(): void {
    this.isHolding = false;
    for (const commit of this.held.splice(0)) commit.go();
  }
}
