/** What a running server tells of one metric. */
import type { TestServer } from './server.ts';

/** Label values, joined by commas → value; a metric without labels is under the empty text. */
export async function readMetric(server: TestServer, name: string): Promise<Record<string, number>> {
  const response = await fetch(`${server.messaging}/healthz`, { headers: { accept: 'text/plain' } });
  const found: Record<string, number> = {};
  for (const line of (await response.text()).split('\n')) {
    const match = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (match?.[1] !== name) continue;
    const labels = [...(match[2] ?? '').matchAll(/="([^"]*)"/g)].map(([, value]) => value);
    found[labels.join(',')] = Number(match[3]);
  }
  return found;
}
