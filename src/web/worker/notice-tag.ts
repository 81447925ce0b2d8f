/** The tag of a conversation's notification, by which a page whose reader was there takes it away. */
export function conversationTag(conversation: string): string {
  return `parley.conversation ${conversation}`;
}
