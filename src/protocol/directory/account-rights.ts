/**
 * The rights of an account (CAP-01, CAP-03), each with the one judgement of it: routes refuse by it, and
 * `GET /v1/me/capabilities` answers by it, so that the two cannot drift apart. Unknown names are not granted.
 */
import type { GrantedRight, PolicyAction } from './policy-decision.ts';

/** What rights are judged by. A role in the console is none of it: it gives rights in the console alone. */
export interface AccountStanding {
  readonly isGuest: boolean;
  /** Whether the access policies leave anybody at all whom the person may do that to. */
  readonly leaves: (action: PolicyAction) => boolean;
  /** Whether the installation has its search switched on. */
  readonly isSearched: boolean;
  /** Whether contents can be kept: not while encryption at rest is locked. */
  readonly keepsContents: boolean;
  /** Whether the settings give the person a right that is nobody's without them. */
  readonly isGranted: (right: GrantedRight) => boolean;
}

type Standing<Part extends keyof AccountStanding> = Pick<AccountStanding, Part>;

const member = ({ isGuest }: Standing<'isGuest'>) => !isGuest;
const whereLeft =
  (action: PolicyAction) =>
  ({ leaves }: Standing<'leaves'>) =>
    leaves(action);

const whomGiven =
  (right: GrantedRight) =>
  ({ isGranted }: Standing<'isGranted'>) =>
    isGranted(right);

/** Right → who has it, in words and as it is judged, and what a request without it is answered. */
export const ACCOUNT_RIGHT_RULES = {
  'conversation.create.direct': {
    say: 'whom the policies leave somebody to message',
    refused: 'participant_unknown',
    judge: whereLeft('message'),
  },
  'conversation.create.secret': {
    say: 'whom the policies leave somebody to message',
    refused: 'participant_unknown',
    judge: whereLeft('message'),
  },
  'conversation.create.room': { say: 'everybody but guests', refused: 'right_missing', judge: member },
  'call.start': {
    say: 'whom the policies leave somebody to call; nobody else starts a call, in rooms neither',
    refused: 'recipient_forbidden',
    judge: whereLeft('call'),
  },
  'directory.read': {
    say: 'whom the policies leave somebody to see',
    refused: 'person_forbidden',
    judge: whereLeft('see'),
  },
  'message.search': {
    say: 'everybody, unless `PARLEY_SEARCH` is off',
    refused: 'search_disabled',
    judge: ({ isSearched }: Standing<'isSearched'>) => isSearched,
  },
  'attachment.upload': {
    say: 'everybody, but not while encryption at rest is locked',
    refused: 'encryption_locked',
    judge: ({ keepsContents }: Standing<'keepsContents'>) => keepsContents,
  },
  'meeting.create': { say: 'everybody but guests', refused: 'right_missing', judge: member },
  'emoji.create': {
    say: 'whom *Settings › Custom emoji* names, guests never',
    refused: 'right_missing',
    judge: whomGiven('emoji.create'),
  },
  'guest.invite': {
    say: 'whom *Settings › Guests* names, guests never',
    refused: 'right_missing',
    judge: whomGiven('guest.invite'),
  },
} as const;

export type AccountRight = keyof typeof ACCOUNT_RIGHT_RULES;
export const ACCOUNT_RIGHTS = Object.keys(ACCOUNT_RIGHT_RULES) as AccountRight[];

/** Whether whoever stands like that has the right; as much of the standing is asked for as the right is judged by. */
export function hasAccountRight<Right extends AccountRight>(
  right: Right,
  standing: Parameters<(typeof ACCOUNT_RIGHT_RULES)[Right]['judge']>[0],
): boolean {
  const judge: (of: never) => boolean = ACCOUNT_RIGHT_RULES[right].judge;
  return judge(standing as never);
}

/** The rights that somebody who stands like that has, in the order of the table. */
export function accountRightsOf(standing: AccountStanding): AccountRight[] {
  return ACCOUNT_RIGHTS.filter((right) => hasAccountRight(right, standing));
}
