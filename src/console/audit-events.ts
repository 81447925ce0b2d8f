/**
 * Events of the audit trail: a name for everything that is written into it, with what its details hold. A name that is
 * not here cannot be audited.
 */
export const AUDIT_EVENTS = {
  'vendor_token.issued': 'An owner issued a vendor token: vendor, purpose, term.',
  'vendor_token.revoked': 'An owner revoked a vendor token.',
  'vendor_token.used': 'A vendor token was used: path and address. Once an hour per token at most.',
  'vendor_token.refused': 'A vendor token was refused: path and code.',
  'node.logs': 'A node was asked for a journal: node, unit, lines.',
} as const satisfies Record<string, string>;
export type AuditEvent = keyof typeof AUDIT_EVENTS;
