/** What a conversation can be asked and told. `user` and `device` come from the authenticated session (GOV-02). */
import type {
  ChangeConversation,
  ConversationKind,
  ReceiptState,
  Role,
  Visibility,
} from '#src/protocol/conversations/conversations.ts';
import type { ErrorCode } from '#src/protocol/errors.ts';
import type { LinkPreview } from '#src/protocol/conversations/links.ts';
import type { AskingRule } from '#src/protocol/directory/policy-decision.ts';
import type { ForwardOrigin, Mention, MessageBody, PostMessage } from '#src/protocol/conversations/messages.ts';

import type { RoomPictures } from '#storage/conversations/room-avatars.ts';

/** Who acts: written by the messaging surface from the session, never from a request's body. */
export interface Acting {
  readonly user: string;
  readonly device: string;
}

/** The policy, and what the surface knows of those who are added: it sees all lanes. */
export interface Asking extends AskingRule {
  /** Who wants to be asked, whatever the rule. */
  readonly wishing?: readonly string[] | undefined;
  /** Nobody to ask. */
  readonly bots: readonly string[];
  /** For whom as many invitations wait as may. */
  readonly full: readonly string[];
  /** Whom an invitation to this room waits for that they are not shown: its inviter may not reach them any more. */
  readonly unreached?: readonly string[];
}

export type ConversationMessage =
  | ({
      readonly kind: 'create';
      readonly conversation: ConversationKind;
      readonly title?: string | undefined;
      /** The others; whoever acts takes part too. Checked against the directory by the surface. */
      readonly participants: readonly string[];
      readonly asking?: Asking | undefined;
      readonly visibility?: Visibility | undefined;
      readonly topic?: string | undefined;
      readonly purpose?: string | undefined;
    } & Acting)
  /** What a conversation says of itself; a field that is not named stays as it is. */
  | ({ readonly kind: 'describe'; readonly form: ChangeConversation } & Acting)
  /** The picture of a room in every size, or its end. */
  | ({ readonly kind: 'putAvatar'; readonly pictures: RoomPictures | null } & Acting)
  /** Somebody comes into a public room by themselves. */
  | ({ readonly kind: 'join' } & Acting)
  /** Whoever acts makes a link into the room, of whose secret this is the hash: for so long, and for so many people. */
  | ({
      readonly kind: 'makeLink';
      readonly link: string;
      readonly hash: string;
      readonly seconds: number;
      readonly uses: number;
    } & Acting)
  | ({ readonly kind: 'revokeLink'; readonly link: string } & Acting)
  /** Somebody comes in by a link, of whose secret this is the hash. */
  | ({ readonly kind: 'joinByLink'; readonly hash: string } & Acting)
  | ({ readonly kind: 'delete' } & Acting)
  | ({
      readonly kind: 'add';
      readonly participants: readonly string[];
      readonly role: Role;
      /** When they are asked first; without it nobody is: the server itself adds them. */
      readonly asking?: Asking | undefined;
    } & Acting)
  /** Whoever acts was asked, and does not take part yet. */
  | ({ readonly kind: 'acceptInvitation' } & Acting)
  | ({ readonly kind: 'declineInvitation' } & Acting)
  | ({ readonly kind: 'withdrawInvitation'; readonly invited: string } & Acting)
  | ({ readonly kind: 'remove'; readonly participant: string } & Acting)
  | ({ readonly kind: 'setRole'; readonly participant: string; readonly role: Role } & Acting)
  | ({
      readonly kind: 'post';
      readonly form: PostMessage;
      /** Whose words the form has, when it passes a message on. */
      readonly origin?: ForwardOrigin;
      /** The call attempts that an outcome may be about, by what the server saw: the names that they are stored under. */
      readonly attempts?: readonly string[];
      /** The name of the attempt that an outcome says it is about. */
      readonly about?: string;
    } & Acting)
  /** A post that the surface refuses: that of a message which was posted before is answered with the message. */
  | ({
      readonly kind: 'refusePost';
      readonly clientMsgId?: string | undefined;
      readonly code: ErrorCode;
      readonly field?: string | undefined;
    } & Acting)
  | ({
      readonly kind: 'edit';
      readonly seq: number;
      readonly body: MessageBody;
      readonly mentions?: readonly Mention[] | undefined;
    } & Acting)
  | ({ readonly kind: 'deleteMessage'; readonly seq: number } & Acting)
  /** The preview of a message's link goes; the message stays as it is. */
  | ({ readonly kind: 'removePreview'; readonly seq: number } & Acting)
  | ({ readonly kind: 'react'; readonly seq: number; readonly emoji: string; readonly added: boolean } & Acting)
  | ({ readonly kind: 'pin'; readonly seq: number; readonly pinned: boolean } & Acting)
  | ({ readonly kind: 'receipt'; readonly state: ReceiptState; readonly seq: number } & Acting)
  | ({ readonly kind: 'draft'; readonly body: string | null } & Acting)
  | ({ readonly kind: 'mute'; readonly until: string | null } & Acting)
  /** Where the person keeps the conversation among theirs. */
  | ({ readonly kind: 'place'; readonly favourite: boolean; readonly category: string | null } & Acting)
  /** From the person's own inbox: what came up to that seq is hidden, until more comes; null shows it again. */
  | ({ readonly kind: 'hide'; readonly seq: number | null } & Acting)
  | ({ readonly kind: 'typing' } & Acting)
  /**
   * The server's own: `user` is the bot of a webhook, or who comes to a meeting, and takes part from now on, or no longer.
   * As a guest, where no role is given; on the word of `by`, where it is not their own.
   */
  | ({
      readonly kind: 'seat';
      readonly isSeated: boolean;
      readonly role?: Role;
      readonly by?: string;
    } & Acting)
  /** The server's own: an administrator, or the rule, gives a room an owner. */
  | { readonly kind: 'giveOwner'; readonly participant: string }
  /** The server's own: an administrator archives a room, or brings it back. */
  | { readonly kind: 'archive'; readonly isArchived: boolean }
  /** The server's own: an administrator takes the picture of a room away. */
  | { readonly kind: 'takeAvatar' }
  /** How long messages are kept, in seconds; null for as long as the installation keeps them. */
  | ({ readonly kind: 'retain'; readonly seconds: number | null } & Acting)
  /** Everything in front of that seq goes. */
  | ({ readonly kind: 'purgeBefore'; readonly beforeSeq: number } & Acting)
  /** The server's own: a legal hold begins or ends. */
  | { readonly kind: 'hold'; readonly isHeld: boolean }
  /** The server's own: what a person said and did here goes, step by step, behind that seq. */
  | { readonly kind: 'erase'; readonly user: string; readonly afterSeq: number }
  /** The server's own: one message of somebody else, without what it says of a person who was erased. */
  | { readonly kind: 'eraseTrace'; readonly user: string; readonly seq: number }
  /** The server's own: title, topic and purpose, without what they call a person who is erased. Answers whether they did. */
  | { readonly kind: 'eraseNames'; readonly user: string; readonly names: readonly string[] }
  /** The server's own: what the page behind the first link of a text says of itself. */
  | { readonly kind: 'preview'; readonly seq: number; readonly preview: LinkPreview }
  /** The actor's own: a second of a large room is over. */
  | { readonly kind: 'tellHints' }
  /** The server's own: it is time to look what is over its time. */
  | { readonly kind: 'expire' }
  /** The runtime's own: another block of what is below the floor goes off the disk. */
  | { readonly kind: 'purge' };

/** A question's answer: the JSON to send and the status to send it with. */
export interface Reply {
  readonly status: 200 | 201 | 204;
  readonly json: string;
}
