/** What the cluster keeps in NATS, by name: everything of an installation stands under its own. */

/** The version of what hosts tell each other over NATS. A host of another one does not join. */
export const STREAM_VERSION = 1;

/** Bytes of one message of the stream. A larger batch goes as several: half of what a NATS server takes unless it is told otherwise. */
export const PART_BYTES = 512 * 1024;

/** What a NATS server has to take in one message: a part, with its headers. */
export const PAYLOAD_BYTES_MIN = PART_BYTES + 4 * 1024;

/** Three servers keep what is acknowledged: any one of them may be lost. */
export const REPLICAS = 3;

/** Headers of a message of the stream: the number of its batch, rising by one; the term it was written in; and which part of how many. */
export const BATCH_HEADER = 'Parley-Batch';
export const TERM_HEADER = 'Parley-Term';
export const PART_HEADER = 'Parley-Part';
/** The sequence of the message that it comes behind: see subject-order.ts. */
export const BEHIND_HEADER = 'Parley-Behind';
/** One of a message's own: what was given up and stored all the same is not taken for what came in its place. */
export const ID_HEADER = 'Parley-Id';

/** The stream of an installation, which has the batches of all logs in the order in which they became durable. */
export const streamName = (name: string): string => `parley_${name}`;

/** The subject of a log, by the name of its folder. */
export const logSubject = (name: string, log: string): string => `parley.${name}.log.${log}`;

/** All logs of an installation. */
export const allLogs = (name: string): string => logSubject(name, '*');

/** The log whose subject it is. */
export const logOfSubject = (subject: string): string => subject.slice(subject.lastIndexOf('.') + 1);

/** Bucket of what lasts: which installation it is, and its newest snapshot. */
export const installationBucket = (name: string): string => `parley_${name}`;

/** Bucket of what has to be said again each second: who leads, and which hosts there are. */
export const presenceBucket = (name: string): string => `parley_${name}_hosts`;

/** Object store of snapshots. */
export const snapshotBucket = (name: string): string => `parley_${name}_snapshots`;

/** Object store of contents of attachments. */
export const contentBucket = (name: string): string => `parley_${name}_contents`;
