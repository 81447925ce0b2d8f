/** What a push says, made right before it goes out, from what is on disk by then; or why nobody is told any more. */
import type { Attention } from '#actors/person/attention.ts';
import { judge } from '#actors/push/decision.ts';
import { postedFor, type PushedMessage, type PushReader } from '#actors/push/push-reader.ts';
import type { PushDelivery } from '#actors/runtime/actor.ts';
import type { NotificationLevel } from '#src/protocol/account/notifications.ts';
import type { Composed } from './push-sender.ts';

/** A text is cut here, in UTF-16 units: providers take 4 KiB in all, and a lock screen shows two lines. */
const TEXT_SHOWN_MAX = 200;

export interface ComposingOptions {
  readonly reader: PushReader;
  readonly attention: Attention;
  readonly now: () => number;
  readonly reaches: (action: 'message' | 'call', from: string, to: string) => boolean;
  readonly levelAt: (user: string, conversation: string, now: number) => NotificationLevel;
  readonly watchedBy: (user: string) => readonly string[];
  /** Whether pushes show what was written, or only that something was. */
  readonly showsText: boolean;
}

export function makeComposing(options: ComposingOptions): (delivery: PushDelivery) => Composed {
  return (delivery) => {
    options.reader.refresh();
    if (delivery.kind === 'message') return composeMessage(delivery, options);
    if (delivery.kind === 'invitation') return composeInvitation(delivery, options);
    return delivery.kind === 'reminder' ? composeReminder(delivery, options) : composeCall(delivery, options);
  };
}

function composeMessage({ user, subject, seq }: PushDelivery, options: ComposingOptions): Composed {
  const { attention, levelAt, now, reaches, reader, showsText, watchedBy } = options;
  if (attention.isAwake(user)) return { dropped: 'awake' };
  const standing = reader.standing(user, subject);
  if (standing === undefined) return { dropped: 'left' };
  const [message] = reader.messages(subject, seq, seq);
  if (message === undefined) return { dropped: 'deleted' };
  const reachesUser = (sender: string) => reaches('message', sender, user);
  const level = levelAt(user, subject, now());
  const moment = { user, now: now(), countsDelivered: false, reaches: reachesUser, level };
  const verdict = judge(postedFor(user, message, watchedBy(user)), standing, moment);
  if (verdict !== 'due') return { dropped: verdict };
  const data = { conversation_id: subject, seq };
  return { push: { data, badge: reader.badge(user, now()), text: showsText ? textOf(message) : undefined } };
}

function composeCall({ call, device, kind, user }: PushDelivery, { attention }: ComposingOptions): Composed {
  if (call === undefined) return { dropped: 'deleted' };
  if (kind === 'call' && attention.isAwake(user, device)) return { dropped: 'awake' };
  const where = call.conversation === null ? {} : { conversation_id: call.conversation };
  const what = kind === 'call' ? { from: call.host, video: call.video } : { cancelled: true };
  return { push: { data: { call: call.call, ...where, ...what }, badge: undefined, text: undefined } };
}

function composeReminder(
  { device, reminder, user }: PushDelivery,
  { attention, showsText }: ComposingOptions,
): Composed {
  if (reminder === undefined) return { dropped: 'deleted' };
  if (attention.isAwake(user, device)) return { dropped: 'awake' };
  const {
    calendar_id,
    entry_id,
    late,
    recurrence_id: recurrence,
    remind_at,
    reminder_id,
    start_at: start,
    title,
  } = reminder;
  const data = {
    ...{ reminder_id, calendar_id, entry_id, remind_at, late },
    ...(recurrence === undefined ? {} : { recurrence_id: recurrence }),
    ...(start === undefined ? {} : { start_at: start }),
  };
  const text = showsText ? title.slice(0, TEXT_SHOWN_MAX).replace(/[\uD800-\uDBFF]$/, '') : undefined;
  return { push: { data, badge: undefined, text } };
}

/** Whoever was asked is told which room; who asks, and the title, where texts are shown. */
function composeInvitation({ subject, user }: PushDelivery, options: ComposingOptions): Composed {
  const { attention, levelAt, now, reaches, reader, showsText } = options;
  const conversation = subject.slice('invitation:'.length);
  const waiting = reader.invitation(user, conversation, now());
  if (waiting === undefined) return { dropped: 'deleted' };
  if (attention.isAwake(user)) return { dropped: 'awake' };
  if (levelAt(user, conversation, now()) === 'none') return { dropped: 'unwanted' };
  const { invitation, record } = waiting;
  if (!reaches('message', invitation.by, user)) return { dropped: 'forbidden' };
  const text = showsText ? `${invitation.by}: ${record.title ?? ''}` : undefined;
  const data = { invitation: conversation };
  return { push: { data, badge: reader.badge(user, now()), text } };
}

/** Only a text has words of its own; of anything else the app says what it is. */
function textOf({ body, kind, sender }: PushedMessage): string | undefined {
  if (kind !== 'text' || typeof body !== 'string') return undefined;
  // Half of a pair of units is no text.
  return `${sender}: ${body.slice(0, TEXT_SHOWN_MAX).replace(/[\uD800-\uDBFF]$/, '')}`;
}
