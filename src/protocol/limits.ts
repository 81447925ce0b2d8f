/**
 * Limits that clients meet. Each has its reason; what happens beyond it is the code in brackets. Limits that only an
 * operator meets are in `src/config.ts`, those of a queue stand beside the queue.
 */

/** The longest text, each unit escaped as six ASCII characters, takes 96 KiB; what is longer is a file. [body_too_large] */
export const BODY_BYTES_MAX = 128 * 1024;

/** A photograph of a telephone as it was taken; a person's picture is made of it, and it is not kept. [body_too_large] */
export const AVATAR_BYTES_MAX = 8 * 1024 * 1024;

/** A picture for a custom emoji: eight times what Slack takes, since phones and GIFs are larger. [body_too_large] */
export const EMOJI_BYTES_MAX = 1024 * 1024;

/** Custom emoji of an installation: a list that is read whole, some 100 KiB, and pictures of 20 MiB as they mostly are. [emoji_full] */
export const EMOJI_MAX = 1_000;

/** Frames of a custom emoji that moves: two seconds at 30 a second. [emoji_invalid] */
export const EMOJI_FRAMES_MAX = 60;

/** What is kept of a custom emoji as WebP: whoever opens a list of them loads many at once. [emoji_invalid] */
export const EMOJI_KEPT_BYTES_MAX = 128 * 1024;

/** Exports of own data under way at once: each has a connection and a block of messages in memory. [busy] */
export const OWN_EXPORTS_MAX = 4;

/** How long such an export may take: 10 GiB over a line of 25 Mbit/s. Then its connection ends. [no line `end`] */
export const OWN_EXPORT_MILLIS = 3_600_000;

/** Text in UTF-16 units: four times what Slack takes in one message. [field_invalid] */
export const TEXT_LENGTH_MAX = 16_000;

/** The two frames are below 200 bytes; larger ones are refused unread. [frame_too_large] */
export const FRAME_BYTES_MAX = 1024;

/** Beyond this the socket library closes the connection by itself (1006), having buffered no more. */
export const FRAME_BYTES_READ_MAX = 16 * 1024;

/** A socket with more refused frames a minute is broken or hostile. [closed with 4400] */
export const REFUSED_FRAMES_PER_MINUTE_MAX = 8;

/** Records in one page of history; a phone screen shows ten. [query_invalid] */
export const PAGE_LENGTH_MAX = 200;
export const PAGE_LENGTH_DEFAULT = 50;

/** Conversations in one inbox page. [query_invalid] */
export const INBOX_PAGE_MAX = 200;

/** Changes in one catch-up answer. Further behind than this, starting afresh costs less. [complete: false] */
export const CHANGES_REPLY_MAX = 1_000;

/** Participants in one room. Fan-out and joins stay linear; 20,000 is twice the largest room we measure. [conversation_full] */
export const PARTICIPANTS_MAX = 20_000;

/** People named in one request to create a room or to add to it. [field_invalid] */
export const PARTICIPANTS_PER_REQUEST_MAX = 1_000;

/**
 * Where the settings say nothing, people of the organisation are added to a room of up to so many at once, and asked above
 * it: below it a room is of people who work together, and above it everybody's presence and typing ceases to be told, so it is
 * the largest room that still behaves as one of colleagues.
 */
export const ADDED_UNASKED_DEFAULT = 256;

/**
 * Invitations to one room that wait, and those that were declined or withdrawn and are remembered still: what one request
 * may name. Each write walks them. [invitations_full]
 */
export const ROOM_INVITATIONS_MAX = 1_000;

/** Invitations to rooms that wait for one person: more than anybody reads. [invitations_full] */
export const INVITATIONS_PER_PERSON_MAX = 100;

/** Of these, how many are of one other person, so that nobody fills up what somebody else may be asked. [invitations_full] */
export const INVITATIONS_OF_ONE_MAX = 10;

/** An invitation to a room that nobody answered is over after 14 days: who was on holiday finds it. [invitation_not_found] */
export const ROOM_INVITATION_MILLIS = 14 * 86_400_000;

/** Whoever declined is not asked into that room again by the same person within 30 days. [invitation_declined] */
export const INVITATION_DECLINED_MILLIS = 30 * 86_400_000;

/** Links into one room that let people in: one for each place where it is announced. [room_links_full] */
export const ROOM_LINKS_MAX = 20;

/** How long a link into a room may let people in: 30 days. Who wants it for ever makes the room public. [field_invalid] */
export const ROOM_LINK_SECONDS_MAX = 30 * 86_400;
/** Where its maker says nothing: a week, in which a mail is read. */
export const ROOM_LINK_SECONDS_DEFAULT = 7 * 86_400;

/** How many people one link into a room may let in: as many as one request adds. [field_invalid] */
export const ROOM_LINK_USES_MAX = 1_000;
/** Where its maker says nothing: a team, and not whoever finds the link later. */
export const ROOM_LINK_USES_DEFAULT = 25;

/** Participants carried by a room's event (SOC-09, Limits of the contract). Above it the list is left out. */
export const EVENT_PARTICIPANTS_MAX = 16;

/**
 * In rooms larger than this receipts, typing and presence of a second are told in one frame each, with a number and the newest,
 * since n readers would make n² frames. The person's own devices get each receipt.
 */
export const HINT_PARTICIPANTS_MAX = 256;

/** The newest people, or receipts, that such a frame names beside their number. [the older are counted alone] */
export const HINT_SAMPLE_MAX = 8;

/** A large room has one frame of typing, one of receipts and one of presence in this time. [who comes meanwhile is in the next] */
export const HINT_FRAME_MILLIS = 1_000;

/** People who are told of one person's presence. Who has more acquaintances than this is seen by those of the smallest conversations. */
export const PRESENCE_PEERS_MAX = 2_000;

/**
 * Conversations, the newest, and participants in them that are looked at for whom to tell of one person's presence, so
 * that it takes a few milliseconds: colleagues who share hundreds of rooms are the same people in each. The rest is not told.
 */
export const PRESENCE_CONVERSATIONS_MAX = 300;
export const PRESENCE_PARTICIPANTS_MAX = 3_000;

/** A second typing frame of one person in one conversation within this time is dropped silently. */
export const TYPING_INTERVAL_MILLIS = 3_000;

/** Unread is counted up to this; the value itself then means "this many or more". */
export const UNREAD_COUNT_MAX = 1_000;

/** Distinct emoji on one message. [reactions_full] */
export const REACTIONS_PER_MESSAGE_MAX = 50;

/** People listed by name per reaction; the count is exact beyond it. */
export const REACTION_USERS_MAX = 16;

/** Pinned messages in a conversation. [pins_full] */
export const PINS_MAX = 100;

/** What is searched for among names of people and rooms, in UTF-16 units: as long as a display name. [query_invalid] */
export const SEARCHED_NAME_LENGTH_MAX = 100;

/** A query for messages or entries, in UTF-16 units: a long sentence. [query_invalid] */
export const SEARCH_LENGTH_MAX = 256;

/** People whose entries one request asks for by name: two screens of a room. Within a query of 8 KiB. [query_invalid] */
export const DIRECTORY_NAMES_MAX = 100;

/** A conversation title, in UTF-16 units. [field_invalid] */
export const TITLE_LENGTH_MAX = 200;

/** What a room is about now, and what it is for, in UTF-16 units: a line on a screen each, and in every post's record. [field_invalid] */
export const TOPIC_LENGTH_MAX = 250;
export const PURPOSE_LENGTH_MAX = 250;

/** What a person calls a part of their inbox, in UTF-16 units: a heading of a narrow list. [field_invalid] */
export const CATEGORY_LENGTH_MAX = 50;

/** Public rooms whose titles one search looks at: a few milliseconds. [the page ends, and `next` goes on] */
export const ROOMS_LOOKED_AT_MAX = 2_000;

/** How far ahead a mute may reach: about ten years, which is "for good". [field_invalid] */
export const MUTE_MILLIS_MAX = 10 * 366 * 86_400_000;

/** A signalling body: an SDP offer of a large conference has some 20 KiB. [body_too_large] */
export const SIGNAL_BODY_BYTES_MAX = 64 * 1024;

/** Mentions in one message: who means more people means everybody. [field_invalid] */
export const MENTIONS_PER_MESSAGE_MAX = 50;

/** Up to this many participants anybody may mention everybody; beyond it, it is a moderator's to wake them. [right_missing] */
export const MENTION_ALL_PARTICIPANTS_MAX = 32;

/** Rows of the index of mentions that one page looks at per lane; beyond it the page ends, and the next one goes on. */
export const MENTIONS_LOOKED_AT_MAX = 1_000;

/** Devices of one person that pushes reach: a phone, a tablet, some browsers. One more takes the place of the oldest. */
export const PUSH_REGISTRATIONS_MAX = 16;

/** The badge of a push counts up to this: no icon has room for more. The value itself means "this many or more". */
export const PUSH_BADGE_MAX = 99;

/** Messages may be kept for as short as a minute: what goes sooner nobody could have read. [field_invalid] */
export const RETENTION_SECONDS_MIN = 60;

/** Messages may be kept for as long as ten years; what is to be kept longer is kept for ever. [field_invalid] */
export const RETENTION_SECONDS_MAX = 10 * 366 * 86_400;

/** How long a shorter time for all messages waits until it counts, and can be taken back: a day, in seconds. */
export const RETENTION_NOTICE_SECONDS = 86_400;

/** Feeds elsewhere that one person follows: each is asked for as long as they do. [calendar_subscriptions_full] */
export const CALENDAR_SUBSCRIPTIONS_MAX = 25;

/** One feed, unpacked: five times what ten thousand events take. Beyond it the last good copy stays. [too_large] */
export const CALENDAR_FEED_BYTES_MAX = 10 * 1024 * 1024;

/** Entries of one feed: ten a day for three years. Beyond it the last good copy stays. [too_many_entries] */
export const CALENDAR_FEED_OBJECTS_MAX = 10_000;

/** How often a feed may be asked for: what is needed sooner does not come by feed. [field_invalid; a feed's wish is taken up to it] */
export const CALENDAR_REFRESH_SECONDS_MIN = 900;

/** How seldom: a feed that nobody asks for in a week is none. [field_invalid; a feed's wish is taken down to it] */
export const CALENDAR_REFRESH_SECONDS_MAX = 7 * 86_400;

/** Feeds that one person may have fetched at once a minute, by making, changing or refreshing subscriptions. [rate_limited] */
export const CALENDAR_FETCHES_PER_MINUTE = 10;

/** People outside that one change of an entry writes mail to; those beyond it have the status 5.1 in the entry. */
export const MAIL_RECIPIENTS_MAX = 100;

/** Mails that leave on behalf of one person within an hour, so that no calendar is a way to spam. Beyond it the status is 5.1. */
export const MAILS_PER_HOUR_MAX = 300;

/** How long a link in an invitation by mail takes an answer, unless the entry is over before. [rsvp_link_not_found] */
export const RSVP_LINK_DAYS_MAX = 90;

/** Answers by one such link in a minute: more than anybody changes their mind. [rate_limited] */
export const RSVP_ANSWERS_PER_MINUTE_MAX = 10;

/** Characters that somebody may add to an answer by such a link. [field_invalid] */
export const RSVP_COMMENT_LENGTH_MAX = 500;
