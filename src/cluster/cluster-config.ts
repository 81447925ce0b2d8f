/** What the settings say of a cluster. */
import type { Config } from '#src/config.ts';

export interface ClusterConfig {
  readonly name: string;
  readonly urls: readonly string[];
  readonly credentialsFile: string | undefined;
  readonly authoritiesFile: string | undefined;
  /** What this host is called among the others; undefined where it makes a name itself. */
  readonly host: string | undefined;
}

/** Undefined where this server is of no cluster. */
export function clusterIn(config: Config): ClusterConfig | undefined {
  if (config.cluster === '') return undefined;
  return {
    name: config.clusterName,
    urls: config.cluster.split(',').map((url) => url.trim()),
    credentialsFile: config.clusterCredentialsFile,
    authoritiesFile: config.clusterCaFile,
    host: config.hostId,
  };
}
