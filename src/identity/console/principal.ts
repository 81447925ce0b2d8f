/** Who a request of the console comes from, as its credential proves it. Nothing in here comes from a form. */
import type { ConsoleRole, PersonConsoleRole } from './permissions.ts';

/** How a console session was opened. `sso` brings the second factor of its provider (TFA-02). */
export type ConsoleSignIn = 'password' | 'sso';

/** A person with a console session. */
export interface ConsolePerson {
  readonly kind: 'person';
  readonly username: string;
  readonly role: PersonConsoleRole;
  readonly signIn: ConsoleSignIn;
  readonly sid: string;
  /** False while the session opens second-factor setup and nothing else (TFA-01). */
  readonly isFull: boolean;
  /** Milliseconds: until when the second factor that was asked again counts; 0 where none was. */
  readonly steppedUpUntil: number;
}

/** The break-glass account: an owner in need, who may do everything but issue vendor tokens (VND-01). */
export interface BreakGlass {
  readonly kind: 'break_glass';
  readonly role: 'owner';
  readonly sid: string;
  /** As a person's. */
  readonly steppedUpUntil: number;
}

/** A vendor's support engineer, by an active vendor token (VND-06, VND-07). */
export interface Vendor {
  readonly kind: 'vendor';
  readonly id: string;
  readonly role: 'vendor_support';
}

export type Principal = ConsolePerson | BreakGlass | Vendor;

/** Who, as the audit trail names them. */
export function actorOf(principal: Principal): string {
  if (principal.kind === 'vendor') return `vendor:${principal.id}`;
  return principal.kind === 'break_glass' ? 'break-glass' : `user:${principal.username}`;
}

/** Whether the second factor was asked again in this session, and not too long ago (VND-17). A vendor has none. */
export function hasSteppedUp(principal: Principal, nowMillis: number): boolean {
  return principal.kind !== 'vendor' && nowMillis < principal.steppedUpUntil;
}

export function roleOf(principal: Principal): ConsoleRole {
  return principal.role;
}
