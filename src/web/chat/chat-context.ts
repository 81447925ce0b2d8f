/** What every screen of somebody who is signed in has: the client, and the state that is drawn. */
import { createContext, useContext } from 'react';
import type { ParleyClient } from '#src/client/parley-client.ts';
import { Reminders } from '../calendar/reminders/reminders.ts';
import { CallEntry } from '../calls/call-entry.ts';
import { Observable } from '../kit/observable.ts';
import { Lobby } from '../meetings/lobby.ts';
import { Pushes } from '../notifications/pushes.ts';
import { CustomEmojiPictures } from './emoji/custom-emoji-pictures.ts';
import { Deletions } from './state/deletions.ts';
import { Drafts } from './state/drafts.ts';
import { Inbox } from './state/inbox.ts';
import { KeptRooms } from './state/kept-rooms.ts';
import { People } from './state/people.ts';
import { ReadMarks } from './state/read-marks.ts';
import { SendingMessages } from './state/sending.ts';
import { TypingPeople } from './state/typing-people.ts';
import { Uploads } from './state/uploads.ts';

/** Words that a screen reader is to say, politely, when it comes to it. */
export class SpokenWords extends Observable {
  #text = '';

  get text(): string {
    return this.#text;
  }

  say(text: string): void {
    this.#text = text;
    this.changed();
  }
}

export interface Chat {
  readonly client: ParleyClient;
  readonly me: string;
  readonly people: People;
  readonly customEmojis: CustomEmojiPictures;
  readonly inbox: Inbox;
  readonly rooms: KeptRooms;
  readonly calls: CallEntry;
  readonly lobby: Lobby;
  readonly reminders: Reminders;
  readonly pushes: Pushes;
  readonly sending: SendingMessages;
  readonly typing: TypingPeople;
  readonly drafts: Drafts;
  readonly uploads: Uploads;
  readonly deletions: Deletions;
  readonly readMarks: ReadMarks;
  readonly spoken: SpokenWords;
}

/** `leads` says whether this tab has the socket of all of the browser’s. */
export function makeChat(client: ParleyClient, leads: () => boolean): Chat {
  const sending = new SendingMessages(client);
  const inbox = new Inbox(client);
  return {
    client,
    me: client.user,
    people: new People(client),
    customEmojis: new CustomEmojiPictures(client),
    inbox,
    rooms: new KeptRooms(client),
    calls: new CallEntry(client),
    lobby: new Lobby(client),
    reminders: new Reminders(client, leads),
    pushes: new Pushes(client, inbox),
    sending,
    typing: new TypingPeople(client),
    drafts: new Drafts(client, inbox),
    uploads: new Uploads(client, sending),
    deletions: new Deletions(client),
    readMarks: new ReadMarks(client),
    spoken: new SpokenWords(),
  };
}

export const ChatContext = createContext<Chat | undefined>(undefined);

export function useChat(): Chat {
  const chat = useContext(ChatContext);
  if (chat === undefined) throw new Error('This screen is for somebody who is signed in.');
  return chat;
}
