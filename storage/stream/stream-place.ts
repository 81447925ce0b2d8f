/** Where the stream of a folder is: what a thread needs to reach it. */

/** Another host has written since. */
export class Fenced extends Error {}

export interface StreamPlace {
  /** The installation's name in NATS. */
  readonly name: string;
  /** NATS servers. */
  readonly urls: readonly string[];
  /** File of the credentials for NATS. */
  readonly credentialsFile: string | undefined;
  /** File of the certificates that vouch for those of the NATS servers; those of the system without it. */
  readonly authoritiesFile: string | undefined;
  /** Sixteen hex digits that no other cluster has. */
  readonly cluster: string;
  /** How many NATS servers keep what is acknowledged. */
  readonly replicas: number;
  /** The term in which this host writes. */
  readonly term: number;
  /** What the folder was before NATS may know that the cluster begins with it: nothing yet, or an installation that was alone. */
  readonly founding?: 'empty' | 'alone' | undefined;
}
