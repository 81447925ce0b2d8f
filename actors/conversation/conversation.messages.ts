/** What a conversation can be asked and told. `user` and `device` come from the authenticated session (GOV-02). */
import type { ConversationKind, ReceiptState, Role } from '#src/protocol/conversations.ts';
import type { ErrorCode } from '#src/protocol/errors.ts';
import type { MessageBody, PostMessage } from '#src/protocol/messages.ts';

/** Who acts: written by the messaging surface from the session, never from a request's body. */
export interface Acting {
  readonly user: string;
  readonly device: string;
}

export type ConversationMessage =
  | ({
      readonly kind: 'create';
      readonly conversation: ConversationKind;
      readonly title?: string | undefined;
      /** The others; whoever acts takes part too. Checked against the directory by the surface. */
      readonly participants: readonly string[];
    } & Acting)
  | ({ readonly kind: 'rename'; readonly title: string } & Acting)
  | ({ readonly kind: 'delete' } & Acting)
  | ({ readonly kind: 'add'; readonly participants: readonly string[]; readonly role: Role } & Acting)
  | ({ readonly kind: 'remove'; readonly participant: string } & Acting)
  | ({ readonly kind: 'setRole'; readonly participant: string; readonly role: Role } & Acting)
  | ({
      readonly kind: 'post';
      readonly form: PostMessage;
      /** Why the attachment that the message names may not be posted; a repeat of a posted message is answered anyway. */
      readonly refused?: ErrorCode;
    } & Acting)
  | ({ readonly kind: 'edit'; readonly seq: number; readonly body: MessageBody } & Acting)
  | ({ readonly kind: 'deleteMessage'; readonly seq: number } & Acting)
  | ({ readonly kind: 'react'; readonly seq: number; readonly emoji: string; readonly added: boolean } & Acting)
  | ({ readonly kind: 'pin'; readonly seq: number; readonly pinned: boolean } & Acting)
  | ({ readonly kind: 'receipt'; readonly state: ReceiptState; readonly seq: number } & Acting)
  | ({ readonly kind: 'draft'; readonly body: string | null } & Acting)
  | ({ readonly kind: 'mute'; readonly until: string | null } & Acting)
  | ({ readonly kind: 'typing' } & Acting)
  /** The runtime's own: another block of what a deletion left goes off the disk. */
  | { readonly kind: 'purge' };

/** A question's answer: the JSON to send and the status to send it with. */
export interface Reply {
  readonly status: 200 | 201 | 204;
  readonly json: string;
}
