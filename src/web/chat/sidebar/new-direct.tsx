/** A chat with one person: the one there is, or a new one. */
import { useState } from 'react';
import { sentenceOf } from '../../kit/language.ts';
import { useChat } from '../chat-context.ts';
import { PeoplePicker } from '../people/people-picker.tsx';

export function NewDirect({ onOpen }: { readonly onOpen: (id: string) => void }) {
  const { client, me } = useChat();
  const [refused, setRefused] = useState<string>();
  const open = (user: string) => {
    client.createDirect(user).then(
      ({ id }) => onOpen(id),
      (thrown: unknown) => setRefused(sentenceOf(thrown)),
    );
  };
  return <PeoplePicker without={[me]} onPick={({ user }) => open(user)} refused={refused} />;
}
