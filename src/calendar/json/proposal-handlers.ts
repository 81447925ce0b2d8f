/** The handlers of proposals: another time asked for by who is invited, and taken or not by who organises. */
import { formatInstant } from '#src/base/time.ts';
import type { ClientHandlers } from '#src/http/client-routes.ts';
import type { CALENDAR_ROUTES } from '#src/protocol/calendars/calendar-routes.ts';
import type { AnswerProposal, ProposalView, ProposeTime } from '#src/protocol/calendars/calendar-proposals.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { entryIdOf } from '#storage/calendars/calendar-records.ts';
import { accessCalendar } from '../calendar-access.ts';
import type { CalendarServices } from '../calendar-services.ts';
import { CalendarContents } from '../objects/calendar-contents.ts';
import type { KeptProposal } from '../scheduling/proposals.ts';
import { writeDuration } from '../icalendar/values.ts';
import { extentOf } from '../recurrence/extent.ts';
import { ZoneResolver } from '../zones/zone-resolver.ts';
import { asEntry, contextOf, findEntry, inContract } from './entry-handlers.ts';
import { timeChanges } from './entry-form.ts';
import { occurrenceTime } from './entry-view.ts';
import { findInvitation } from './invitation-handlers.ts';
import { changeObject } from './series-edits.ts';

type Names = 'answerProposal' | 'listProposals' | 'proposeTime' | 'removeProposal';

export function makeProposalHandlers(services: CalendarServices): ClientHandlers<Pick<typeof CALENDAR_ROUTES, Names>> {
  const { proposals } = services;
  return {
    proposeTime: async ({ user, parameters: { calendar: id = '', entry = '' }, body }) => {
      const { comment, recurrence_id: recurrenceId, ...form } = body as ProposeTime;
      const { calendar, stored, object } = findInvitation(services, user, id, entry);
      const about = object.master ?? object.overrides[0];
      const extent = about === undefined ? undefined : extentOf(about, new ZoneResolver(object.zones, calendar.zone));
      const kept = extent === undefined ? undefined : writeDuration(extent.length);
      const changes = timeChanges(form, calendar.zone, kept);
      const when = [...(changes?.['DTSTART'] ?? []), ...(changes?.['DURATION'] ?? [])];
      if (when.length === 0) throw new Refusal('field_invalid', { field: 'local_start' });
      await asEntry(() => proposals.propose(user, calendar, stored.name, { recurrenceId, when, comment }));
      return { status: 204, body: undefined };
    },
    listProposals: async ({ user }) => {
      const found = await proposals.list(user);
      return { status: 200, body: { items: found.map((kept) => proposalView(services, kept)), next: null } };
    },
    answerProposal: async ({ user, parameters: { proposal = '' }, body }) => {
      const { answer, comment } = body as AnswerProposal;
      const kept = await proposals.find(user, proposal, 'COUNTER');
      if (answer === 'accepted') await accept(services, user, kept);
      else await proposals.decline(user, kept, comment);
      return { status: 204, body: undefined };
    },
    removeProposal: async ({ user, parameters: { proposal = '' } }) => {
      await proposals.remove(await proposals.find(user, proposal, 'DECLINECOUNTER'));
      return { status: 204, body: undefined };
    },
  };
}

/** Moves the entry to the time that is proposed; in the same commit the proposal is done with. */
async function accept(services: CalendarServices, user: string, kept: KeptProposal): Promise<void> {
  const { calendars, writer } = services;
  const accessible = accessCalendar(calendars, user, kept.calendar.id, 'write');
  const contents = new CalendarContents(calendars, accessible);
  const { object, stored } = findEntry(contents, entryIdOf(kept.uid));
  const { isAllDay, when } = timeOf(kept);
  const form = isAllDay
    ? { date: when.date as string, days: when.days as number }
    : { start_at: when.start_at as string, end_at: when.end_at as string, tz: when.tz ?? accessible.calendar.zone };
  const scope =
    kept.recurrenceId === undefined
      ? { scope: 'all' as const }
      : { scope: 'this' as const, recurrence_id: kept.recurrenceId };
  const context = contextOf(services, user, accessible);
  const { bytes } = inContract(() => changeObject(object, { ...form, ...scope }, context));
  const put = { name: stored.name, bytes: bytes as Uint8Array, conditions: { ifMatch: [stored.etag] } };
  await asEntry(() =>
    writer.putAll(user, accessible.calendar.id, [put], (draft) => {
      // Answered from another place meanwhile.
      if (draft.object(kept.inbox, kept.name) === undefined) throw new Refusal('proposal_not_found');
      draft.removeObject(kept.inbox, kept.name);
    }),
  );
}

function timeOf({ end, start, timing }: KeptProposal) {
  const isAllDay = !timing.start.includes('T');
  return { isAllDay, when: occurrenceTime({ start, end, isAllDay, localStart: timing.start, tz: timing.tz }) };
}

function proposalView({ book }: CalendarServices, kept: KeptProposal): ProposalView {
  const { at, attendee, calendar, comment, id, method, organizer, recurrenceId, sentBy, title, uid } = kept;
  const person = (address: string) => {
    const user = book.userOf(address);
    return { address, ...(user === undefined ? {} : { user, name: book.nameOf(user) }) };
  };
  const from = person(method === 'COUNTER' ? attendee : organizer);
  return {
    id,
    standing: method === 'COUNTER' ? 'waiting' : 'declined',
    ...{ calendar_id: calendar.id, entry_id: entryIdOf(uid), title },
    ...(recurrenceId === undefined ? {} : { recurrence_id: recurrenceId }),
    from: { ...from, ...(sentBy === undefined ? {} : { sent_by: person(sentBy) }) },
    ...timeOf(kept).when,
    ...(comment === undefined ? {} : { comment }),
    proposed_at: formatInstant(at),
  };
}
