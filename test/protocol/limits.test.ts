/**
 * Limits by their figures: clients are built on these, and every other test takes them from where the server does, so
 * that it would pass with any.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as limits from '#src/protocol/limits.ts';
import { RATE_LIMITS } from '#src/protocol/rate-limits.ts';

const FIGURES = {
  BODY_BYTES_MAX: 131_072,
  AVATAR_BYTES_MAX: 8_388_608,
  TEXT_LENGTH_MAX: 16_000,
  FRAME_BYTES_MAX: 1_024,
  FRAME_BYTES_READ_MAX: 16_384,
  REFUSED_FRAMES_PER_MINUTE_MAX: 8,
  PAGE_LENGTH_MAX: 200,
  PAGE_LENGTH_DEFAULT: 50,
  INBOX_PAGE_MAX: 200,
  CHANGES_REPLY_MAX: 1_000,
  PARTICIPANTS_MAX: 20_000,
  PARTICIPANTS_PER_REQUEST_MAX: 1_000,
  ADDED_UNASKED_DEFAULT: 256,
  ROOM_INVITATIONS_MAX: 1_000,
  INVITATIONS_PER_PERSON_MAX: 100,
  INVITATIONS_OF_ONE_MAX: 10,
  ROOM_INVITATION_MILLIS: 1_209_600_000,
  INVITATION_DECLINED_MILLIS: 2_592_000_000,
  EVENT_PARTICIPANTS_MAX: 16,
  HINT_PARTICIPANTS_MAX: 256,
  HINT_SAMPLE_MAX: 8,
  HINT_FRAME_MILLIS: 1_000,
  PRESENCE_PEERS_MAX: 2_000,
  PRESENCE_CONVERSATIONS_MAX: 300,
  PRESENCE_PARTICIPANTS_MAX: 3_000,
  TYPING_INTERVAL_MILLIS: 3_000,
  UNREAD_COUNT_MAX: 1_000,
  REACTIONS_PER_MESSAGE_MAX: 50,
  REACTION_USERS_MAX: 16,
  PINS_MAX: 100,
  SEARCHED_NAME_LENGTH_MAX: 100,
  DIRECTORY_NAMES_MAX: 100,
  TITLE_LENGTH_MAX: 200,
  TOPIC_LENGTH_MAX: 250,
  PURPOSE_LENGTH_MAX: 250,
  CATEGORY_LENGTH_MAX: 50,
  ROOMS_LOOKED_AT_MAX: 2_000,
  MUTE_MILLIS_MAX: 316_224_000_000,
  SIGNAL_BODY_BYTES_MAX: 65_536,
  MENTIONS_PER_MESSAGE_MAX: 50,
  MENTION_ALL_PARTICIPANTS_MAX: 32,
  MENTIONS_LOOKED_AT_MAX: 1_000,
  PUSH_REGISTRATIONS_MAX: 16,
  PUSH_BADGE_MAX: 99,
  RETENTION_SECONDS_MIN: 60,
  RETENTION_NOTICE_SECONDS: 86_400,
  RETENTION_SECONDS_MAX: 316_224_000,
  CALENDAR_SUBSCRIPTIONS_MAX: 25,
  CALENDAR_FEED_BYTES_MAX: 10_485_760,
  CALENDAR_FEED_OBJECTS_MAX: 10_000,
  CALENDAR_REFRESH_SECONDS_MIN: 900,
  CALENDAR_REFRESH_SECONDS_MAX: 604_800,
  CALENDAR_FETCHES_PER_MINUTE: 10,
  MAIL_RECIPIENTS_MAX: 100,
  MAILS_PER_HOUR_MAX: 300,
  RSVP_LINK_DAYS_MAX: 90,
  RSVP_ANSWERS_PER_MINUTE_MAX: 10,
  RSVP_COMMENT_LENGTH_MAX: 500,
};

/** Requests a second, and at once. */
const RATES = {
  read: [50, 2_000],
  post: [10, 200],
  change: [20, 400],
  create: [1, 100],
  invite: [2, 2_000],
  signal: [50, 1_000],
  search: [2, 30],
  frame: [10, 100],
  upgrade: [1, 60],
  refused: [50, 5_000],
};

test('every limit that clients meet is what docs/protocol.md promised', () => {
  assert.deepEqual({ ...limits }, FIGURES);
});

test('every bucket of requests fills and holds as docs/protocol.md promised', () => {
  const rates = Object.entries(RATE_LIMITS).map(([name, { perSecond, burst }]) => [name, [perSecond, burst]]);
  assert.deepEqual(Object.fromEntries(rates), RATES);
});
