/** A client for components of React: each hook draws again when what it answers has changed, and not otherwise. */
import {
  createContext,
  createElement,
  type ReactElement,
  type ReactNode,
  useContext,
  useEffect,
  useMemo,
  useState,
  useSyncExternalStore,
} from 'react';
import type { ConversationMirror } from '../conversations/conversation-mirror.ts';
import type { ChatMessage } from '../conversations/records.ts';
import type { ClientEvents } from '../events.ts';
import { type ParleyError, toParleyError } from '../parley-error.ts';
import type { ParleyClient } from '../parley-client.ts';

const ClientContext = createContext<ParleyClient | undefined>(undefined);

/** Gives a client to the components inside. Whoever made it closes it. */
export function ParleyProvider(props: { readonly client: ParleyClient; readonly children?: ReactNode }): ReactElement {
  return createElement(ClientContext, { value: props.client }, props.children);
}

/** The client of the nearest provider. @throws Error where there is none: that is a fault of the program. */
export function useParley(): ParleyClient {
  const client = useContext(ClientContext);
  if (client === undefined) throw new Error('A hook of Parley is used outside of a <ParleyProvider>.');
  return client;
}

/** Whether the socket is open. What is sent while it is not waits in the outbox. */
export function useIsConnected(): boolean {
  return useTold(CONNECTION_CHANGES, isConnected);
}

/**
 * The conversations that are not hidden, with the one where something was said last first. The list is a new one after a change, and
 * what is in it goes on: a component that is memoised by its conversation alone would not see it change.
 */
export function useConversations(): readonly ConversationMirror[] {
  return useTold(LIST_CHANGES, readConversations);
}

export interface OpenConversation {
  /** Undefined until it was read. */
  readonly mirror: ConversationMirror | undefined;
  /** The newest messages, oldest first: those that the client keeps. Older ones are asked of `client.history`. */
  readonly messages: readonly ChatMessage[];
  /** Why it could not be read. */
  readonly error: ParleyError | undefined;
}

/** A conversation that is shown: read when it comes into view, and kept up by what happens in it. */
export function useConversation(id: string): OpenConversation {
  const client = useParley();
  const [failed, setFailed] = useState<{ readonly id: string; readonly error: ParleyError }>();
  const read = useMemo(() => (of: ParleyClient) => readOpen(of, id), [id]);
  const open = useTold(OPEN_CHANGES, read, id);
  useEffect(() => {
    let isShown = true;
    const fail = (thrown: unknown) => isShown && setFailed({ id, error: toParleyError(thrown) });
    const begin = () => void client.open(id).then(() => isShown && setFailed(undefined), fail);
    begin();
    const off = client.on('afresh', ({ conv }) => conv === id && begin());
    return () => {
      isShown = false;
      off();
    };
  }, [client, id]);
  return useMemo(() => ({ ...open, error: failed?.id === id ? failed.error : undefined }), [open, failed, id]);
}

/** What a person is called; their username until that is known. */
export function usePersonName(user: string): string {
  const client = useParley();
  const [read, setRead] = useState<{ readonly user: string; readonly name: string }>();
  useEffect(() => {
    let isShown = true;
    const ask = () =>
      void client.directory.read(user).then(
        (known) => isShown && setRead({ user, name: known?.display_name ?? user }),
        // Somebody whom one may not see is called by their username.
        () => undefined,
      );
    ask();
    // Who changed while the socket was away is not known: all are asked for again.
    const offs = [
      client.on('directory.changed', ({ data }) => data.user === user && ask()),
      client.on('caught-up', ask),
    ];
    return () => {
      isShown = false;
      for (const off of offs) off();
    };
  }, [client, user]);
  return read?.user === user ? read.name : client.directory.nameOf(user);
}

type Told = readonly (keyof ClientEvents)[];

const CONNECTION_CHANGES = ['connection'] as const satisfies Told;

const LIST_CHANGES = [
  'afresh',
  'caught-up',
  'conversation.deleted',
  'conversation.updated',
  'gone',
  'hidden',
  'membership',
  'message.delete',
  'message.edit',
  'message.new',
  'outbox',
  'receipt',
  'watermarks',
] as const satisfies Told;

const OPEN_CHANGES = [...LIST_CHANGES, 'pin', 'purge', 'reaction'] as const satisfies Told;

const isConnected = (client: ParleyClient) => client.isConnected;

function readConversations(client: ParleyClient): readonly ConversationMirror[] {
  const lastAt = (mirror: ConversationMirror) =>
    mirror.messages.at(-1)?.createdAt ?? mirror.conversation?.createdAt ?? 0;
  const shown = [...client.conversations.values()].filter((mirror) => !mirror.isHidden);
  return shown.toSorted((one, other) => lastAt(other) - lastAt(one));
}

function readOpen(client: ParleyClient, id: string): Omit<OpenConversation, 'error'> {
  const mirror = client.conversations.get(id);
  return { mirror, messages: mirror?.messages ?? [] };
}

/** What `read` answers of the client, read again after each of these events, or those of one conversation: a burst draws once. */
function useTold<T>(types: Told, read: (client: ParleyClient) => T, conv?: string): T {
  const client = useParley();
  const told = useMemo(() => {
    let value = read(client);
    const subscribe = (onChange: () => void) => {
      let isDue = false;
      const draw = () => {
        isDue = false;
        value = read(client);
        onChange();
      };
      const heard = (event: object) => {
        const of = 'conv' in event ? event.conv : undefined;
        if (isDue || (conv !== undefined && of !== undefined && of !== conv)) return;
        isDue = true;
        queueMicrotask(draw);
      };
      const offs = types.map((type) => client.on(type, heard));
      // What happened between the first drawing and this.
      heard({});
      return () => {
        for (const off of offs) off();
      };
    };
    return { subscribe, current: () => value };
  }, [client, conv, read, types]);
  return useSyncExternalStore(told.subscribe, told.current, told.current);
}
