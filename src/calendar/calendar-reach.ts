/** Whom somebody may invite and ask about: people by the access policies, resources by who may book them. */
import { USERNAME } from '#src/protocol/names.ts';
import type { ManagedResource } from '#src/protocol/directory/resources.ts';
import type { DirectoryView, ResourcesView } from './address-book.ts';

export interface ReachOptions {
  readonly directory: Pick<DirectoryView, 'entry'>;
  /** Rooms and resources, and which of them somebody may book. */
  readonly resources: ResourcesView & { mayBook(person: string, user: string): boolean };
  /** Whether somebody may see somebody, by the access policies. */
  readonly maySee: (viewer: string, user: string) => boolean;
  /** Whether somebody may invite somebody, by the access policies. */
  readonly mayInvite: (organizer: string, user: string) => boolean;
}

export interface Reach {
  /** Whether a person is there who may be shared with and invited. */
  readonly isPerson: (user: string) => boolean;
  /** Whether somebody or something is there that gets a calendar for what it is invited to. */
  readonly hasCalendar: (user: string) => boolean;
  /** A room or resource of that name; undefined for anything else. */
  readonly resource: (user: string) => ManagedResource | undefined;
  /** Whether a person is there who may book it. */
  readonly mayBook: (person: string, user: string) => boolean;
  /** Whether somebody is there whom the organiser may invite, or something that they may book. */
  readonly mayInvite: (organizer: string, user: string) => boolean;
  /** Whether somebody may ask when a person is taken, or a resource that they may book. */
  readonly mayAskAbout: (viewer: string, user: string) => boolean;
}

export function makeReach({ directory, mayInvite, maySee, resources }: ReachOptions): Reach {
  const isPerson = (user: string): boolean => {
    const entry = USERNAME.test(user) ? directory.entry(user) : undefined;
    return entry !== undefined && entry.kind !== 'bot' && entry.state === 'active';
  };
  const resource = (user: string) => resources.find(user);
  const mayBook = (person: string, user: string) => isPerson(person) && resources.mayBook(person, user);
  return {
    isPerson,
    hasCalendar: (user) => isPerson(user) || resource(user) !== undefined,
    resource,
    mayBook,
    mayInvite: (organizer, user) =>
      resource(user) === undefined ? isPerson(user) && mayInvite(organizer, user) : mayBook(organizer, user),
    mayAskAbout: (viewer, user) => {
      if (resource(user) !== undefined) return mayBook(viewer, user);
      return user === viewer || (isPerson(user) && maySee(viewer, user));
    },
  };
}
