/** Lines of telephony and mail where a person stands under a sign of one letter, in a channel's name or in a header. */
import { lineEnd, type Context } from './context.ts';
import type { Phrase, Rule } from './log-shapes.ts';
import { putPerson } from './people.ts';
import { peopleOf } from './session-shapes.ts';
import { markerEnd } from './spans.ts';
import { closerOf } from './value-bounds.ts';

/** Bytes before `R=` of exim in which the recipient's name stands. */
const RECIPIENT_MAX = 80;

/** `SIP/alice-0000001a`, `PJSIP/1001`: the channel of a peer. `SIP/2.0` is the protocol. */
const CHANNEL =
  /(?:PJ)?SIP\/(?!(?:u|tel)-[0-9a-f]{8})([A-Za-z_+*#][\w+*#]{0,63}|\d{3,24})(?:-[0-9a-f]{3,12})?(?=[\s"',)\]>&;/]|$)/dy;
const DIALPLAN = /Processing ([^<\n]{0,80}) <([^>\s]{0,64})>->(\S{1,64}) in context /dy;
const CALLER_ID = /CALLERID\((?:name|num|number|all|ani|dnid)\)[=,] ?"?([^"<>)(\n=]{1,64})/diy;
const SDES = /inline:([A-Za-z0-9+/=]{16,128})/dy;

/** The key of a media stream in SDP. */
const sdes: Rule = (context, start) => {
  SDES.lastIndex = start;
  const place = SDES.exec(context.source)?.indices?.[1];
  return place === undefined ? -1 : context.spans.secret(place[0], place[1], 'secret');
};

/** The phrases of these programs, each with its rule. */
export const TELEPHONY_PHRASES: readonly Phrase[] = [
  ['SIP/', peopleOf(CHANNEL)],
  ['PJSIP/', peopleOf(CHANNEL)],
  ['Processing ', peopleOf(DIALPLAN)],
  ['CALLERID(', peopleOf(CALLER_ID)],
  ['CallerID(', peopleOf(CALLER_ID)],
  ['inline:', sdes],
];

const LOCAL_USER = /U=([^\s=]{1,64}) P=/dy;
const ORIGIN = /o=(\S{1,64}) \d{1,20} \d{1,20} IN IP[46]/dy;
const localUser = peopleOf(LOCAL_USER);
const origin = peopleOf(ORIGIN);

/** What a letter before `=` names: `T` the subject, `U` and `R` people of exim; `o` the origin in SDP. Or -1. */
export function cutLetter(context: Context, start: number): number {
  const { source } = context;
  const letter = source.charCodeAt(start);
  if (letter === 111) return origin(context, start, start + 2);
  if (source.charCodeAt(start - 1) !== 32) return -1;
  if (letter === 84) return cutSubject(context, start + 2);
  if (letter === 85) return localUser(context, start, start + 2);
  return letter === 82 ? cutRecipient(context, start) : -1;
}

/** `T="…"`; without quotes it is the transport. */
function cutSubject(context: Context, at: number): number {
  const { source, spans } = context;
  if (source.charCodeAt(at) !== 34 || markerEnd(source, at + 1) !== -1) return -1;
  const to = closerOf(source, at + 1, lineEnd(context, at), '"');
  return to > at + 1 ? spans.secret(at + 1, to, 'text') : -1;
}

/** `=> alice R=…`, `** alice R=…`: a recipient of this host, whose address is not written down. */
function cutRecipient(context: Context, start: number): number {
  const { source, spans } = context;
  const before = source.slice(Math.max(spans.last, start - RECIPIENT_MAX), start);
  const name = / (?:=>|->|>>|\*\*|==) ([^\s<>@=]{1,64}) $/.exec(before)?.[1];
  if (name !== undefined) putPerson(context, start - 1 - name.length, start - 1);
  return -1;
}
