/** Makes messages older than they are, in the folder of a server that does not run. */
import { lanePath } from '#storage/engine/folder.ts';
import { numbered } from '#storage/engine/keys.ts';
import { openLane } from '#storage/engine/lane.ts';
import { laneOf } from '#storage/engine/lanes.ts';
import { messageRecord } from '#storage/engine/records.ts';

/** Sets back when the messages of a conversation up to a seq were made. */
export async function age(
  folder: string,
  lanes: number,
  { conversation, upTo, millis }: { conversation: string; upTo: number; millis: number },
): Promise<void> {
  const environment = openLane(lanePath(folder, laneOf(conversation, lanes)), 1024 ** 3);
  const range = { start: numbered(1, conversation), end: numbered(upTo + 1, conversation) };
  const writes = [...environment.tables.messages.getRange(range)].map(({ key, value }) => {
    const message = JSON.parse(messageRecord.json(value)) as { created_at: string };
    const made = new Date(Date.parse(message.created_at) - millis).toISOString();
    const json = JSON.stringify({ ...message, created_at: made });
    return {
      table: 'messages' as const,
      key: Buffer.from(key),
      value: messageRecord.encode(json, messageRecord.flags(value)),
    };
  });
  await environment.commit(writes);
  await environment.close();
}
