/** Single requests to the server under test, outside any measurement. */
import { messagesPath, type Person, type Room, type Subject } from './subject.ts';
import { Requests, type Target } from './requests.ts';

/**
 * Reads JSON as a person.
 * @throws Error with the status when it is refused.
 */
export async function readJson(
  subject: Subject,
  person: Person,
  path: string,
): Promise<{ text: string; value: Record<string, unknown> }> {
  const response = await fetch(`http://${subject.host}:${subject.port}${path}`, {
    headers: { authorization: `Bearer ${person.token}` },
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${subject.name}: ${path} was answered ${response.status} ${text}`);
  return { text, value: JSON.parse(text) as Record<string, unknown> };
}

/** Who of the world takes part in a room. */
export function membersOf(subject: Subject, room: Room): Person[] {
  const people = new Map(subject.world.people.map((person) => [person.username, person]));
  return room.members.map((member) => people.get(member)!);
}

/**
 * Posts so many messages to a room, as fast as they are taken.
 * @throws Error when one is refused.
 */
export async function fillRoom(subject: Subject, room: Room, count: number, cores: readonly number[]): Promise<void> {
  const poster = await Requests.open({ host: subject.host, port: subject.port, connections: 32 }, cores);
  try {
    const targets = membersOf(subject, room)
      .slice(0, 32)
      .map((person): Target => {
        return { method: 'POST', path: messagesPath(room), token: person.token, expect: 'message' };
      });
    const result = await poster.run({ run: 'fill', first: 0, count, targets, verifyEvery: 16 });
    if (result.statuses[201] !== count)
      throw new Error(`filling a room was answered ${JSON.stringify(result.statuses)}`);
  } finally {
    await poster.stop();
  }
}
