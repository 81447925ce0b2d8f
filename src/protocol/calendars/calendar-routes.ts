/** The HTTP forms of the calendar service, as data: see `routes.ts` (SVC-05). */
import * as availability from './availability.ts';
import * as files from './calendar-files.ts';
import * as proposals from './calendar-proposals.ts';
import * as search from './calendar-search.ts';
import * as calendars from './calendars.ts';
import * as subscriptions from './calendar-subscriptions.ts';
import * as resources from '../directory/resources.ts';
import { route, type Route } from '../route.ts';

const missing = 'calendar_not_found';
const entryMissing = 'entry_not_found';
const right = 'right_missing';
const written = [
  'calendar_read_only',
  'entry_too_large',
  'entry_invalid',
  'entry_kind_refused',
  'calendar_full',
  'quota_exceeded',
  'organizer_forbidden',
] as const;

export const CALENDAR_ROUTES = {
  listCalendars: route.get(
    '/v1/calendars',
    "The caller's calendars and those shared with them. The first call makes the default calendar.",
    { replies: { 200: calendars.calendarsReply } },
  ),
  createCalendar: route.post(
    '/v1/calendars',
    'Creates a calendar, or with a `source` one that follows a feed elsewhere and is read only.',
    {
      body: calendars.createCalendar,
      replies: { 201: calendars.calendar },
      errors: [
        'calendars_full',
        'quota_exceeded',
        'calendar_subscriptions_full',
        'target_private',
        'encryption_locked',
      ],
    },
  ),
  readCalendar: route.get(
    '/v1/calendars/:calendar',
    'Reads a calendar. One answer for one that is not there and one that is not for the caller.',
    { replies: { 200: calendars.calendar }, errors: [missing] },
  ),
  changeCalendar: route.patch('/v1/calendars/:calendar', 'Changes a calendar; for its owner.', {
    body: calendars.changeCalendar,
    replies: { 200: calendars.calendar },
    errors: [missing, right, 'entry_kind_refused'],
  }),
  deleteCalendar: route.delete(
    '/v1/calendars/:calendar',
    'Deletes a calendar with its entries; for its owner. Whom it is shared with leaves it. Where its owner organises meetings in it, ' +
      '`notify` has to say whether those who are invited hear of it.',
    {
      query: calendars.deleteCalendarQuery,
      replies: { 204: null },
      errors: [missing, right, 'calendar_has_meetings', 'busy'],
    },
  ),
  readSubscription: route.get(
    '/v1/calendars/:calendar/subscription',
    'The feed that a calendar follows, and how its refreshes went; for the owner of the calendar.',
    {
      replies: { 200: subscriptions.subscription },
      errors: [missing, right, 'calendar_subscription_not_found', 'encryption_locked'],
    },
  ),
  changeSubscription: route.patch(
    '/v1/calendars/:calendar/subscription',
    'Changes where a feed is, which fetches it at once, or how often it is asked for; for the owner.',
    {
      body: subscriptions.changeSubscription,
      replies: { 200: subscriptions.subscription },
      errors: [missing, right, 'calendar_subscription_not_found', 'target_private', 'encryption_locked'],
    },
  ),
  refreshSubscription: route.post(
    '/v1/calendars/:calendar/subscription/refresh',
    'Has the feed asked for soon, also one that is given up; for the owner. Read the subscription to see how it went.',
    {
      replies: { 202: subscriptions.subscription },
      errors: [missing, right, 'calendar_subscription_not_found', 'encryption_locked'],
    },
  ),
  listCalendarShares: route.get('/v1/calendars/:calendar/shares', 'Whom a calendar is shared with; for its owner.', {
    replies: { 200: calendars.sharesReply },
    errors: [missing, right],
  }),
  putCalendarShare: route.put(
    '/v1/calendars/:calendar/shares/:username',
    'Shares a calendar with somebody whom the owner may see, or changes what they may.',
    {
      body: calendars.putShare,
      replies: { 200: calendars.share },
      errors: [missing, right, 'person_forbidden', 'shares_full', 'calendars_full'],
    },
  ),
  deleteCalendarShare: route.delete(
    '/v1/calendars/:calendar/shares/:username',
    'Ends a share; for the owner, and for oneself.',
    { replies: { 204: null }, errors: [missing, right] },
  ),
  putCalendarGroupShare: route.put(
    '/v1/calendars/:calendar/shares/groups/:group',
    'Shares a calendar with the members of a group that its owner is in, as long as they are members.',
    {
      body: calendars.putShare,
      replies: { 200: calendars.groupShare },
      errors: [missing, right, 'group_not_found', 'shares_full', 'calendars_full'],
    },
  ),
  deleteCalendarGroupShare: route.delete(
    '/v1/calendars/:calendar/shares/groups/:group',
    'Ends a share with a group; for the owner.',
    { replies: { 204: null }, errors: [missing, right] },
  ),
  listFeeds: route.get(
    '/v1/calendars/:calendar/feeds',
    "A calendar's published feeds, without their URLs; for its owner.",
    { replies: { 200: files.feedsReply }, errors: [missing, right] },
  ),
  publishFeed: route.post(
    '/v1/calendars/:calendar/feeds',
    'Publishes a calendar, to be read by whoever has the URL that is answered, once; for its owner.',
    { body: files.publishFeed, replies: { 201: files.publishedFeed }, errors: [missing, right, 'feeds_full'] },
  ),
  revokeFeed: route.delete(
    '/v1/calendars/:calendar/feeds/:feed',
    'Revokes a published feed: its URL is nothing any more.',
    { replies: { 204: null }, errors: [missing, right, 'feed_not_found'] },
  ),
  readRange: route.get(
    '/v1/calendars/:calendar/entries',
    'What is in a calendar from one instant up to another, each occurrence by itself, in order.',
    { query: calendars.rangeQuery, replies: { 200: calendars.occurrencesReply }, errors: [missing] },
  ),
  createEntry: route.post(
    '/v1/calendars/:calendar/entries',
    'Creates an entry: a single one, an all-day one, a series.',
    {
      body: calendars.createEntry,
      replies: { 201: calendars.entry },
      errors: [missing, right, 'participant_unknown', 'meetings_full', ...written],
    },
  ),
  readEntry: route.get(
    '/v1/calendars/:calendar/entries/:entry',
    'Reads an entry as it is stored, or one occurrence of it as it takes place.',
    {
      query: calendars.readEntryQuery,
      replies: { 200: calendars.entry },
      errors: [missing, entryMissing],
    },
  ),
  changeEntry: route.patch(
    '/v1/calendars/:calendar/entries/:entry',
    'Changes an entry, one occurrence of a series, or that one and all that follow, which then are their own.',
    {
      body: calendars.changeEntry,
      replies: { 200: calendars.entry },
      errors: [missing, entryMissing, right, 'entry_changed', 'participant_unknown', 'meetings_full', ...written],
    },
  ),
  deleteEntry: route.delete(
    '/v1/calendars/:calendar/entries/:entry',
    'Deletes an entry, one occurrence of a series, or that one and all that follow.',
    {
      query: calendars.deleteEntryQuery,
      replies: { 204: null },
      errors: [missing, entryMissing, right, 'calendar_read_only', 'entry_changed'],
    },
  ),
  readCalendarChanges: route.get(
    '/v1/calendars/:calendar/changes',
    'What changed behind a cursor, or everything without one: exact, or refused where it cannot be.',
    {
      query: calendars.changesQuery,
      replies: { 200: calendars.changesReply },
      errors: [missing, 'cursor_invalid', 'sync_cursor_expired'],
    },
  ),
  searchEntries: route.get(
    '/v1/entries',
    'Entries with all of these words in their title, place, description, categories and people, of every calendar that the caller may read.',
    {
      query: search.entrySearchQuery,
      replies: { 200: search.entrySearchReply },
      errors: [missing, right, 'cursor_invalid', 'search_too_short'],
    },
  ),
  listInvitations: route.get(
    '/v1/invitations',
    "Entries that wait for an answer, in calendars of the caller's own and of whose delegate they are.",
    {
      query: calendars.invitationsQuery,
      replies: { 200: calendars.invitationsReply },
      errors: ['cursor_invalid'],
    },
  ),
  answerInvitation: route.put(
    '/v1/invitations/:calendar/:entry/answer',
    'Answers an invitation in the name of whose calendar it is in.',
    {
      body: calendars.answerInvitation,
      replies: { 200: calendars.invitation },
      errors: ['invitation_not_found', 'answer_forbidden'],
    },
  ),
  proposeTime: route.post(
    '/v1/invitations/:calendar/:entry/proposals',
    'Proposes another time to who organises an entry. The newest proposal of one person for one entry counts.',
    {
      body: proposals.proposeTime,
      replies: { 204: null },
      errors: ['invitation_not_found', 'proposal_forbidden', 'proposal_outdated', 'entry_invalid', 'busy'],
    },
  ),
  listProposals: route.get(
    '/v1/proposals',
    "Times that are proposed for what the caller organises, and the caller's own that were declined, the oldest first; then those of whose delegate the caller is.",
    { replies: { 200: proposals.proposalsReply } },
  ),
  answerProposal: route.put(
    '/v1/proposals/:proposal/answer',
    'Takes a proposed time, which moves the entry and asks everybody anew, or tells who proposed it that it is not taken.',
    {
      body: proposals.answerProposal,
      replies: { 204: null },
      errors: ['proposal_not_found', missing, entryMissing, right, 'entry_changed', 'busy', ...written],
    },
  ),
  removeProposal: route.delete(
    '/v1/proposals/:proposal',
    'Takes from the list that a time of the caller’s was not taken. What waits for an answer is answered instead.',
    { replies: { 204: null }, errors: ['proposal_not_found', 'busy'] },
  ),
  listResources: route.get(
    '/v1/resources',
    'Rooms and resources that the caller may book by inviting them, and with `from` and `to` those that are free all that time.',
    { query: resources.resourcesQuery, replies: { 200: resources.resourcesReply } },
  ),
  readWorkingHours: route.get('/v1/working-hours', "The caller's working hours.", {
    replies: { 200: availability.workingHours },
  }),
  putWorkingHours: route.put(
    '/v1/working-hours',
    'Sets the hours of a week in which the caller may be asked for their time; the rest of it is shown as unavailable.',
    { body: availability.putWorkingHours, replies: { 200: availability.workingHours } },
  ),
  deleteWorkingHours: route.delete(
    '/v1/working-hours',
    "Takes the caller's working hours away, whichever client set them.",
    {
      replies: { 204: null },
    },
  ),
  findTime: route.post('/v1/find-time', 'Times that suit several people and a room, the best ones first.', {
    body: availability.findTime,
    replies: { 200: availability.foundTimes },
    errors: ['busy'],
  }),
  askFreeBusy: route.post('/v1/free-busy', 'When people and resources are busy, and nothing else about it.', {
    body: calendars.askFreeBusy,
    replies: { 200: calendars.freeBusyReply },
  }),
} as const satisfies Record<string, Route>;

export type CalendarRoute = keyof typeof CALENDAR_ROUTES;
