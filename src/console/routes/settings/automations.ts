/** Automations: webhooks on events, and what became of each. Their runs hold texts, so all of it is closed. */
import { z } from 'zod';
import { isEventPattern, type AutomationRecord } from '#src/integrations/automation-records.ts';
import { deliveryIdOf, RUNS_KEPT_MAX, type Run } from '#src/integrations/automation-outbox.ts';
import type { Automations } from '#src/integrations/automations.ts';
import { isTargetUrl } from '#src/outgoing/targets.ts';
import { isId } from '#src/base/ids.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

const NAME_LENGTH_MAX = 100;
const PATTERNS_MAX = 32;
const URL_LENGTH_MAX = 2_000;
/** A secret that is shorter could be tried out from one signed body. */
const SECRET_LENGTH_MIN = 16;
const SECRET_LENGTH_MAX = 256;

const fields = {
  name: z
    .string()
    .max(NAME_LENGTH_MAX)
    .regex(/^\P{Cc}*[^\s\p{Cc}]\P{Cc}*$/u),
  events: z
    .array(z.string().max(100).refine(isEventPattern))
    .min(1)
    .max(PATTERNS_MAX)
    .refine((events) => new Set(events).size === events.length)
    .meta({ description: 'Names of audit events, or their beginnings: user.created, vendor_token.*' }),
  url: z
    .string()
    .max(URL_LENGTH_MAX)
    .refine((text) => isTargetUrl(text, ['https:', 'http:'])),
  secret: z
    .string()
    .min(SECRET_LENGTH_MIN)
    .max(SECRET_LENGTH_MAX)
    .regex(/^\P{Cc}+$/u)
    .meta({ description: 'Signs what is sent. Never shown.' }),
};

const automation = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    events: z.array(z.string()),
    url: z.string(),
    secret: z.strictObject({ set: z.boolean() }),
    enabled: z.boolean(),
    created_at: z.string(),
    created_by: z.string(),
    changed_at: z.string(),
  })
  .meta({ id: 'Automation' });

const run = z
  .strictObject({
    /** The delivery's id, the same at every attempt. */
    id: z.string(),
    state: z.enum(['pending', 'delivered', 'failed', 'dropped']),
    event: z.string(),
    entry: z.int(),
    message: z.string(),
    attempts: z.int(),
    status: z.int().nullable(),
    reply: z.string().nullable(),
    reason: z.string().nullable(),
    created_at: z.string(),
    ended_at: z.string().nullable(),
  })
  .meta({ id: 'AutomationRun' });

const closed = { access: 'settings:read', vendor: 'closed', audit: null } as const;
const write = { access: 'settings:write', vendor: 'closed' } as const;

export const automationsRoutes = {
  listAutomations: {
    ...closed,
    method: 'get',
    path: '/automations',
    summary: 'Automations, the oldest first.',
    replies: { 200: z.strictObject({ items: z.array(automation), next: z.null() }) },
    errors: [],
  },
  createAutomation: {
    ...write,
    method: 'post',
    path: '/automations',
    summary: 'Makes an automation: a signed POST to a URL for every event from now on.',
    audit: 'automation.created',
    body: z.strictObject({ ...fields, enabled: z.boolean().default(true) }).meta({ id: 'CreateAutomation' }),
    replies: { 201: automation },
    errors: ['automations_full', 'encryption_locked', 'target_private'],
  },
  readAutomation: {
    ...closed,
    method: 'get',
    path: '/automations/:id',
    summary: 'Reads an automation.',
    replies: { 200: automation },
    errors: ['automation_not_found'],
  },
  changeAutomation: {
    ...write,
    method: 'patch',
    path: '/automations/:id',
    summary: 'Changes an automation.',
    audit: 'automation.changed',
    body: z
      .strictObject({ ...fields, enabled: z.boolean() })
      .partial()
      .meta({ id: 'ChangeAutomation' }),
    replies: { 200: automation },
    errors: ['automation_not_found', 'encryption_locked', 'target_private'],
  },
  deleteAutomation: {
    ...write,
    method: 'delete',
    path: '/automations/:id',
    summary: 'Removes an automation with its runs; what waits is not sent.',
    audit: 'automation.deleted',
    replies: { 204: null },
    errors: ['automation_not_found'],
  },
  listRuns: {
    ...closed,
    method: 'get',
    path: '/automations/:id/runs',
    summary: 'What became of its deliveries, the newest first: all that wait, and the last hundred that ended.',
    query: z.strictObject({
      after: z.string().optional(),
      limit: z.coerce.number().int().min(1).max(RUNS_KEPT_MAX).default(RUNS_KEPT_MAX),
    }),
    replies: { 200: z.strictObject({ items: z.array(run), next: z.string().nullable() }) },
    errors: ['automation_not_found', 'cursor_invalid'],
  },
} as const satisfies Record<string, ConsoleRoute>;

export function makeAutomationsPage({ automations }: { readonly automations: Automations }): ConsolePage {
  return page(automationsRoutes, {
    listAutomations: () => {
      const items = automations.list().map(({ id, document }) => automationBody(id, document));
      return { status: 200, body: { items, next: null } };
    },
    createAutomation: async (request) => {
      const id = await automations.create(request.body, request.by);
      return { status: 201, body: automationBody(id, automations.find(id)) };
    },
    readAutomation: (request) => ({
      status: 200,
      body: automationBody(request.parameters.id, automations.find(request.parameters.id)),
    }),
    changeAutomation: async (request) => {
      const record = await automations.change(request.parameters.id, request.body, request.by);
      return { status: 200, body: automationBody(request.parameters.id, record) };
    },
    deleteAutomation: async (request) => {
      await automations.remove(request.parameters.id, request.by);
      return { status: 204 };
    },
    listRuns: (request) => {
      const { after, limit } = request.query;
      if (after !== undefined && !isId('dlv', after)) throw new Refusal('cursor_invalid');
      const found = automations.runs(request.parameters.id, after, limit + 1);
      const items = found.slice(0, limit).map(runBody);
      return { status: 200, body: { items, next: found.length > limit ? (items.at(-1)?.id ?? null) : null } };
    },
  });
}

function automationBody(id: string, record: AutomationRecord): z.infer<typeof automation> {
  return {
    id,
    name: record.name,
    events: [...record.events],
    url: record.url,
    // One is made with its secret, which is replaced and never taken away.
    secret: { set: true },
    enabled: record.isEnabled,
    created_at: record.createdAt,
    created_by: record.createdBy,
    changed_at: record.changedAt,
  };
}

function runBody({ id, document }: Run): z.infer<typeof run> {
  return {
    id: deliveryIdOf(id),
    state: document.state,
    event: document.event,
    entry: document.entry,
    message: document.message,
    attempts: document.attempts,
    status: document.status,
    reply: document.reply,
    reason: document.reason,
    created_at: document.createdAt,
    ended_at: document.endedAt,
  };
}
