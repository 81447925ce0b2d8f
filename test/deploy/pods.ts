/** What Kubernetes would make of the manifests of docs/deploy, as far as containers.ts goes: pods as services of one network. */
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { Deployment, StatefulSet } from 'kubernetes-types/apps/v1.js';
import type { Container, PodTemplateSpec, Probe, Service, Volume } from 'kubernetes-types/core/v1.js';
import type { NetworkPolicy } from 'kubernetes-types/networking/v1.js';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.js';
import type { ComposeFile, ComposeService } from './containers.ts';

export type Manifest = Deployment | NetworkPolicy | PodDisruptionBudget | Service | StatefulSet;
export type Workload = Deployment | StatefulSet;

const NETWORK = 'pods';

/** All manifests in the folder of one, by file. */
export function readManifests(folder: string): Map<string, Manifest[]> {
  const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
  return new Map(
    files.map((file) => {
      const documents = parseAllDocuments(readFileSync(join(folder, file), 'utf8'));
      return [file, documents.map((one) => one.toJS() as Manifest)];
    }),
  );
}

export const isWorkload = (one: Manifest): one is Workload => one.kind === 'Deployment' || one.kind === 'StatefulSet';

export function templateOf(workload: Workload): PodTemplateSpec {
  return workload.spec?.template as PodTemplateSpec;
}

/** A stand-in for `kubectl create secret generic` and `create configmap`, in shell: each key is a file below `objects`. */
export function kubectlInto(objects: string): string {
  return `kubectl() {
  kind=$2; shift 2
  if [ "$kind" = secret ]; then shift; fi
  into="${objects}/$kind/$1"; shift
  mkdir -p "$into"
  for option; do
    value=\${option#*=}
    case $option in
      --from-literal=*) printf %s "\${value#*=}" > "$into/\${value%%=*}" ;;
      --from-file=*) if [ -d "$value" ]; then cp "$value"/* "$into"; else cp "$value" "$into"; fi ;;
      *) echo "what is $option?" >&2; return 1 ;;
    esac
  done
}
`;
}

/**
 * The pods of all workloads as services. `objects` is what kubectlInto made, `volumes` where claims lie. A Service with an address of its
 * own is the last of its pods: what is in front of it then meets one that does not lead.
 */
export function podsOf(manifests: readonly Manifest[], objects: string, volumes: string): ComposeFile {
  const services: Record<string, ComposeService> = {};
  for (const workload of manifests.filter(isWorkload)) {
    const { replicas = 1 } = workload.spec ?? {};
    const isStateful = workload.kind === 'StatefulSet';
    const name = workload.metadata?.name as string;
    for (let at = 0; at < (isStateful ? replicas : 1); at += 1) {
      const pod = isStateful ? `${name}-${at}` : name;
      const headless = isStateful ? [`${pod}.${workload.spec?.serviceName}`] : [];
      const fronts = at === replicas - 1 ? frontsOf(manifests, templateOf(workload)) : [];
      services[pod] = {
        ...serviceOf(pod, workload, objects, volumes),
        networks: { [NETWORK]: { aliases: [...headless, ...fronts] } },
        depends_on: dependenciesOf(pod, at, workload, Object.keys(services)),
      };
    }
  }
  return { services, networks: { [NETWORK]: {} }, secrets: {} };
}

/** Names of Services with an address of their own in front of such a pod. */
function frontsOf(manifests: readonly Manifest[], template: PodTemplateSpec): string[] {
  return manifests
    .filter((one): one is Service => one.kind === 'Service' && one.spec?.clusterIP !== 'None')
    .filter((one) => one.spec?.selector?.['app'] === template.metadata?.labels?.['app'])
    .map((one) => one.metadata?.name as string);
}

/** Pods of a set that is in order wait for the one before; the first waits for what stands in front of it in the list, to be steady. */
function dependenciesOf(
  pod: string,
  at: number,
  workload: Workload,
  before: readonly string[],
): NonNullable<ComposeService['depends_on']> {
  const isOrdered = workload.kind === 'StatefulSet' && workload.spec?.podManagementPolicy !== 'Parallel';
  const own = at === 0 ? before : [pod.replace(/\d+$/, String(at - 1))];
  if (!isOrdered && workload.kind === 'StatefulSet') return {};
  return Object.fromEntries(own.map((name) => [name, { condition: 'service_healthy' }]));
}

function serviceOf(
  pod: string,
  workload: Workload,
  objects: string,
  volumes: string,
): Omit<ComposeService, 'networks'> {
  const spec = templateOf(workload).spec;
  const [container] = (spec?.containers ?? []) as [Container];
  const environment = environmentOf(pod, container, objects);
  const { runAsUser = 0, fsGroup = 0 } = spec?.securityContext ?? {};
  const mounts = (container.volumeMounts ?? []).map(({ mountPath, name, readOnly = false, subPath = '' }) => {
    const volume = spec?.volumes?.find((one) => one.name === name);
    if (volume?.emptyDir !== undefined) return { tmpfs: mountPath };
    const from =
      volume === undefined ? claim(join(volumes, `${name}-${pod}`), fsGroup) : kept(volume, objects, fsGroup);
    return { bind: `${join(from, subPath)}:${mountPath}:${readOnly ? 'ro' : 'rw'}` };
  });
  const command = container.command?.map((part) =>
    part.replaceAll(/\$\((\w+)\)/g, (_, key: string) => environment[key] ?? ''),
  );
  const { allowPrivilegeEscalation, capabilities, readOnlyRootFilesystem } = container.securityContext ?? {};
  return {
    image: container.image?.includes('/parley:') === true ? 'parley' : (container.image as string),
    ...(command === undefined ? {} : { command }),
    environment,
    user: String(runAsUser),
    volumes: mounts.flatMap(({ bind }) => bind ?? []),
    tmpfs: mounts.flatMap(({ tmpfs }) => tmpfs ?? []),
    healthcheck: { test: ['CMD', ...healthOf(container.readinessProbe as Probe, container)] },
    read_only: readOnlyRootFilesystem === true,
    cap_drop: capabilities?.drop ?? [],
    security_opt: allowPrivilegeEscalation === false ? ['no-new-privileges:true'] : [],
  };
}

function environmentOf(pod: string, { env = [] }: Container, objects: string): Record<string, string> {
  return Object.fromEntries(
    env.map(({ name, value, valueFrom }) => {
      const { fieldRef, secretKeyRef } = valueFrom ?? {};
      if (fieldRef?.fieldPath === 'metadata.name') return [name, pod];
      if (secretKeyRef === undefined) return [name, value ?? ''];
      return [name, readFileSync(join(objects, 'secret', secretKeyRef.name ?? '', secretKeyRef.key), 'utf8')];
    }),
  );
}

/** A volume of a claim, as kubelet hands it over: root's, and its group's. */
function claim(folder: string, group: number): string {
  mkdirSync(folder, { recursive: true });
  chownSync(folder, 0, group);
  chmodSync(folder, 0o2775);
  return folder;
}

/** The folder of a secret or a configuration, readable as the manifest says. */
function kept({ configMap, secret }: Volume, objects: string, group: number): string {
  const folder =
    secret === undefined
      ? join(objects, 'configmap', configMap?.name ?? '')
      : join(objects, 'secret', secret.secretName ?? '');
  for (const file of readdirSync(folder)) {
    chownSync(join(folder, file), 0, group);
    chmodSync(join(folder, file), secret?.defaultMode ?? configMap?.defaultMode ?? 0o644);
  }
  return folder;
}

/** What asks inside as kubelet asks from outside. */
function healthOf({ exec, httpGet, tcpSocket }: Probe, { ports = [] }: Container): string[] {
  if (exec?.command !== undefined) return exec.command;
  const number = (port: number | string | undefined) => ports.find(({ name }) => name === port)?.containerPort;
  if (httpGet !== undefined)
    return ['wget', '-q', '-O', '/dev/null', `http://127.0.0.1:${number(httpGet.port)}${httpGet.path}`];
  return ['bash', '-c', `exec 3<>/dev/tcp/127.0.0.1/${number(tcpSocket?.port)}`];
}
