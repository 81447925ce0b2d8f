/**
 * Every limit on how often, by name: its figure, its reason, and what lies beyond it. `so many a minute` lets as many
 * pass at once after some quiet, and then goes on at that rate; no minute sees more than twice the figure. A `strict`
 * one sees no more than its figure in any minute at all.
 */
import {
  BOT_CONVERSATION_BURST,
  BOT_CONVERSATION_PER_SECOND,
  BOT_REQUESTS_BURST,
  BOT_REQUESTS_PER_SECOND,
} from '#src/protocol/bots/bots.ts';
import { RESPONSE_TOKEN_MILLIS, RESPONSES_PER_INVOCATION_MAX } from '#src/protocol/bots/commands.ts';
import {
  WEBHOOK_POSTS_BURST,
  WEBHOOK_POSTS_PER_SECOND,
  WEBHOOKS_MADE_PER_HOUR_MAX,
} from '#src/protocol/bots/webhooks.ts';
import { CALENDAR_FETCHES_PER_MINUTE, MAILS_PER_HOUR_MAX, RSVP_ANSWERS_PER_MINUTE_MAX } from '#src/protocol/limits.ts';
import { RATE_LIMITS, RATE_NAMES, type RateName } from '#src/protocol/rate-limits.ts';

export interface Policy {
  /** Requests a second that go on for ever. */
  readonly perSecond: number;
  /** Requests at once, after some quiet; 0 counts nothing. */
  readonly burst: number;
  /** Whether no span of `burst / perSecond` seconds sees more than `burst`. */
  readonly strict?: boolean;
}

/** A policy with what the documents say of it. */
interface StatedPolicy extends Policy {
  /** What counts, of whom, and why so much. */
  readonly say: string;
  /** What happens beyond it: a code, or in words. */
  readonly beyond: string;
}

function perMinute(count: number): Policy {
  return { perSecond: count / 60, burst: count };
}

function perHour(count: number): Policy {
  return { perSecond: count / 3_600, burst: count };
}

/** The settings that policies follow from. */
export interface PolicySettings {
  /** Times that people may do what the table of rate limits allows; 0 switches it off. */
  readonly rateLimits: number;
  readonly loginAttemptsPerMinute: number;
  readonly recoveriesPerMinute: number;
}

/** Failed sign-ins of a network, as many times those of one name from one address: an office behind one router. */
const ADDRESS_TIMES = 10;
const NETWORK_TIMES = 30;
const EVERYBODY_TIMES = 120;

const beyond = '`rate_limited`';

/** Those that no setting changes. */
const FIXED_POLICIES = {
  bot: {
    ...{ perSecond: BOT_REQUESTS_PER_SECOND, burst: BOT_REQUESTS_BURST, beyond },
    say: 'Requests and frames of one bot: ten busy people’s worth, and catching up at once.',
  },
  webhook: {
    ...{ perSecond: WEBHOOK_POSTS_PER_SECOND, burst: WEBHOOK_POSTS_BURST, beyond },
    say: 'Posts by one webhook: more than anybody reads.',
  },
  webhook_made: {
    ...{ ...perHour(WEBHOOKS_MADE_PER_HOUR_MAX), beyond },
    say: 'Webhooks that one person makes; each one leaves its name in the directory.',
  },
  bot_conversation: {
    ...{ perSecond: BOT_CONVERSATION_PER_SECOND, burst: BOT_CONVERSATION_BURST },
    say: 'Messages of one bot in one conversation, where bots may answer each other in a circle.',
    beyond: '`bot_conversation_limited`',
  },
  command_response: {
    ...{ perSecond: 1_000 / RESPONSE_TOKEN_MILLIS, burst: RESPONSES_PER_INVOCATION_MAX, beyond },
    say: 'Answers to one command.',
  },
  join_node: { ...perMinute(60), beyond, say: 'Hosts that join from one address.' },
  report_health: { ...perMinute(12), beyond, say: 'Health reports of one host, which sends two a minute.' },
  report_role: { ...perMinute(60), beyond, say: 'Reports of one host, one a minute for each of its roles.' },
  read_asks: {
    ...perMinute(120),
    beyond,
    say: 'Polls of one host for asks: one at a time, each up to its deadline.',
  },
  answer_ask: { ...perMinute(30), beyond, say: 'Journals that one host hands over, one for each ask.' },
  journal_ask: {
    ...{ ...perMinute(4), strict: true, beyond },
    say: 'Asks of one vendor token for a journal, in any minute (VND-11).',
  },
  telemetry: { ...perMinute(6), beyond, say: 'Reports of one device. A client gathers for minutes.' },
  feed_read: {
    ...{ ...perMinute(60), beyond },
    say: 'Reads of one published feed: a household of calendar apps that all look once a minute.',
  },
  calendar_fetch: {
    ...{ ...perMinute(CALENDAR_FETCHES_PER_MINUTE), beyond },
    say: 'Feeds that one person has fetched at once: a server elsewhere is not theirs to flood.',
  },
  mail_domain: {
    ...perMinute(120),
    say: 'Calendar mails of one domain outside: an office that invites everybody to a party.',
    beyond: 'put off with 451, and the sender’s server tries again',
  },
  mail_sent: {
    ...perHour(MAILS_PER_HOUR_MAX),
    say: 'Mails that leave on behalf of one person, so that no calendar is a way to spam.',
    beyond: 'the status of the attendee is 5.1',
  },
  reset_mail: {
    ...perHour(3),
    say: 'Links to set a forgotten password that are mailed to one person.',
    beyond: 'no mail goes, and the answer is the same',
  },
  code_mail: { ...perHour(6), beyond, say: 'Codes that one person has mailed to confirm an address.' },
  alarm_sent: {
    ...perHour(30),
    say: 'Alarms by mail to one person: more than anybody sets.',
    beyond: 'the alarm is dropped and counted',
  },
  refusal: {
    ...{ perSecond: 1 / 10, burst: 30 },
    say: 'Refusals of one caller by one of these limits: a program that heeds `Retry-After` meets a few.',
    beyond: 'the refusal is answered a second later, so that a loop costs the others nothing',
  },
  sso_walk: {
    ...{ ...perMinute(240), beyond },
    say: 'Sign-ins at a provider that one address starts, comes back from or exchanges: an office in the morning.',
  },
  guest_number: {
    ...{ ...perHour(10), beyond },
    say: 'Numbers of which one host learns that a guest has them, or that none has by an invitation that they take back.',
  },
  enroll_name: {
    ...{ ...perHour(20), beyond },
    say: 'Usernames that are taken, tried with one invitation: whoever has a link is to choose a name and not to list them.',
  },
  rsvp_guess: { ...perMinute(20), beyond, say: 'Links of invitations from one address that are none.' },
  room_link_guess: { ...perMinute(20), beyond, say: 'Links into rooms from one person that are none for them.' },
  rsvp_answer: { ...perMinute(RSVP_ANSWERS_PER_MINUTE_MAX), beyond, say: 'Answers by one link of an invitation.' },
} as const satisfies Record<string, StatedPolicy>;

function secretPolicies({ loginAttemptsPerMinute: failures, recoveriesPerMinute: recoveries }: PolicySettings) {
  return {
    recovery_request: { ...perMinute(recoveries), beyond, say: 'Requests for recovery codes from one address.' },
    reset_request: {
      ...perMinute(recoveries),
      beyond,
      say: 'Requests for a link to set a forgotten password, from one address.',
    },
    recovery_confirm: { ...perMinute(recoveries), beyond, say: 'Attempts to use a recovery code from one address.' },
    login_name: {
      ...{ ...perMinute(failures), beyond },
      say: 'Failures of one name from one address (an IPv4 address or an IPv6 /64).',
    },
    login_address: {
      ...{ ...perMinute(ADDRESS_TIMES * failures), beyond },
      say: 'Failures of one address over all names: a household, an office.',
    },
    login_network: {
      ...{ ...perMinute(NETWORK_TIMES * failures), beyond },
      say: 'Failures of one network (an IPv4 /24 or an IPv6 /48) over all names.',
    },
    login_everybody: {
      ...perMinute(EVERYBODY_TIMES * failures),
      say: 'Failures of all. Beyond it, addresses that failed within the last seconds wait; the others do not.',
      beyond,
    },
    login_device: {
      ...{ ...perMinute(failures), beyond: 'the device counts as unknown' },
      say: 'Failures of one name on one device that it signed in on before.',
    },
    login_account: {
      ...{ perSecond: 1 / 3, burst: 40 },
      say: 'Failures of one name over all addresses, on devices that it never signed in on.',
      beyond: 'nobody is refused; from the tenth on, attempts on such devices wait, twice as long for each one more',
    },
  } as const satisfies Record<string, StatedPolicy>;
}

/** Those that the same setting multiplies as the table of rate limits: of the coordinator’s own routes, and of calls. */
function routePolicies({ rateLimits: times }: Pick<PolicySettings, 'rateLimits'>) {
  const often = (count: number) => perMinute(times === 0 ? 0 : Math.max(1, count * times));
  return {
    route_write: {
      ...{ ...often(60), beyond },
      say: 'Writes of one person by one route of the coordinator: nobody types faster, and programs wait.',
    },
    route_read: {
      ...{ ...often(600), beyond },
      say: 'Reads of one person by one route of the coordinator: a client reads the directory page by page.',
    },
    calendar_read: {
      ...{ perSecond: 20 * times, burst: 200 * times },
      say: 'Reads of one person of calendars, over DAV and JSON together: a client that begins asks for each of them.',
      beyond: 'answered in turn, up to five seconds later; then `rate_limited`',
    },
    calendar_write: {
      ...{ perSecond: 10 * times, burst: 30 * times },
      say: 'Writes of one person to calendars, over DAV and JSON together, each some four milliseconds of a core: a client that moves in writes each entry.',
      beyond: 'answered in turn, up to five seconds later; then `rate_limited`',
    },
    health_read: {
      ...{ perSecond: 10 * times, burst: 60 * times, beyond },
      say: 'Reads of `/healthz` by one address: ten probes a second.',
    },
    scim_read: {
      ...{ perSecond: 50 * times, burst: 500 * times, beyond },
      say: 'Reads of one client that provisions people: identity providers keep to 25 requests a second.',
    },
    scim_write: {
      ...{ perSecond: 25 * times, burst: 500 * times, beyond },
      say: 'Writes of one client that provisions people: a first run of 10,000 takes seven minutes.',
    },
    scim_refused: {
      ...{ ...often(60), beyond },
      say: 'Requests of one address with a token for provisioning that is none.',
    },
    login_success: {
      ...{ perSecond: times / 3, burst: times === 0 ? 0 : Math.max(3, 20 * times), beyond },
      say: 'Sign-ins of one name that succeed, each of which hashes for 20 ms: all apps of a person at once. No stranger’s failure counts.',
    },
    call_begun: {
      ...{ ...often(30), beyond },
      say: 'Calls that one person rings others by: each sounds on every device of whoever is called, and wakes their phones.',
    },
    console_write: {
      ...{ ...often(240), beyond },
      say: 'Writes of one person in the console: each is an entry of the audit trail.',
    },
  } as const satisfies Record<string, StatedPolicy>;
}

type OwnName =
  | keyof typeof FIXED_POLICIES
  | keyof ReturnType<typeof routePolicies>
  | keyof ReturnType<typeof secretPolicies>;
export type PolicyName = OwnName | RateName;
export type Policies = Readonly<Record<PolicyName, Policy>>;

const DEFAULTS: PolicySettings = { rateLimits: 1, loginAttemptsPerMinute: 10, recoveriesPerMinute: 10 };

/** The policies that stand beside the table of rate limits, as they are by default: for the documents. */
export const STATED_POLICIES: Readonly<Record<OwnName, StatedPolicy>> = {
  ...FIXED_POLICIES,
  ...routePolicies(DEFAULTS),
  ...secretPolicies(DEFAULTS),
};

/** In an order that all threads share. */
export const POLICY_NAMES = [...RATE_NAMES, ...(Object.keys(STATED_POLICIES) as OwnName[])];

/** All policies under those settings. */
export function makePolicies(settings: PolicySettings): Policies {
  const { rateLimits: times } = settings;
  const scaled = RATE_NAMES.map((name): [RateName, Policy] => {
    const { burst, perSecond } = RATE_LIMITS[name];
    return [name, { perSecond: perSecond * times, burst: times === 0 ? 0 : Math.max(1, burst * times) }];
  });
  return {
    ...(Object.fromEntries(scaled) as Record<RateName, Policy>),
    ...FIXED_POLICIES,
    ...routePolicies(settings),
    ...secretPolicies(settings),
  };
}
