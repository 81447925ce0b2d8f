/** Mail as the mail nodes last reported it: quarantine, bounces of groups, and the DNS records of the domains. */
import { z } from 'zod';
import type { DnsRecord } from '#src/settings/mail-dns.ts';
import type { LatestReport, NodeReports } from '#src/hosts/node-reports.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import { nodeId } from '#src/protocol/hosts/nodes.ts';
import { page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

const from = { node: nodeId, name: z.string(), reported_at: z.string() };

const quarantined = z
  .strictObject({
    ...from,
    message: z.string(),
    at: z.string(),
    from: z.string(),
    to: z.string(),
    subject: z.string(),
    reason: z.string(),
  })
  .meta({ id: 'QuarantinedMail' });

const groupBounce = z
  .strictObject({ ...from, at: z.string(), group: z.string(), recipient: z.string(), reason: z.string() })
  .meta({ id: 'GroupBounce' });

const dnsRecord = z
  .strictObject({
    ...from,
    domain: z.string(),
    record: z.string(),
    type: z.string(),
    expected: z.string(),
    found: z.array(z.string()),
    matches: z.boolean(),
  })
  .meta({ id: 'MailDnsRecord' });

const published = z
  .strictObject({ name: z.string(), type: z.literal('TXT'), value: z.string() })
  .meta({ id: 'MailDnsRecordToPublish' });

const read = { method: 'get', audit: null, errors: [] } as const;
const listOf = <T extends z.ZodType>(item: T) => ({ 200: z.strictObject({ items: z.array(item), next: z.null() }) });

export const mailRoutes = {
  readQuarantine: {
    ...read,
    path: '/mail/quarantine',
    summary: 'Mail that the mail nodes hold back.',
    access: 'audit:read',
    vendor: 'depersonalised',
    replies: listOf(quarantined),
  },
  readGroupBounces: {
    ...read,
    path: '/mail/group-bounces',
    summary: 'Mail to groups that came back.',
    access: 'audit:read',
    vendor: 'depersonalised',
    replies: listOf(groupBounce),
  },
  readMailDns: {
    ...read,
    path: '/mail/dns',
    summary:
      'DNS records of mail: what to publish for the domain of the settings, whose DKIM key is made at the first read, and what the mail nodes found.',
    access: 'settings:read',
    vendor: 'closed',
    audit: 'mail.dkim_key_made',
    replies: {
      200: z.strictObject({ items: z.array(dnsRecord), next: z.null(), publish: z.array(published) }),
    },
    errors: ['encryption_locked'],
  },
} as const satisfies Record<string, ConsoleRoute>;

export interface MailPageOptions {
  readonly reports: NodeReports;
  /** What to publish; makes the DKIM key when there is none, in the name of whoever reads. */
  readonly recordsToPublish: (by: AuditActor) => Promise<DnsRecord[]>;
}

export function makeMailPage({ reports, recordsToPublish }: MailPageOptions): ConsolePage {
  const answer = <T>(of: (latest: LatestReport<'mail'>) => readonly T[]) => {
    const items = reports.latest('mail').flatMap((latest) => {
      const { node, receivedAt } = latest;
      return of(latest).map((item) => ({
        ...item,
        node: node.id,
        name: node.document.name,
        reported_at: receivedAt,
      }));
    });
    return { status: 200, body: { items, next: null } };
  };
  return page(mailRoutes, {
    readQuarantine: () => answer(({ report }) => report.quarantine),
    readGroupBounces: () => answer(({ report }) => report.group_bounces),
    readMailDns: async ({ by }) => {
      const publish = await recordsToPublish(by);
      const { status, body } = answer(({ report }) =>
        report.dns.map((record) => ({ ...record, matches: record.found.includes(record.expected) })),
      );
      return { status, body: { ...body, publish } };
    },
  });
}
