/** Groups and access policies as the console reads and writes them, and groups as clients read them (POL-01). */
import { z } from 'zod';
import { isId } from '#src/base/ids.ts';
import { PARTICIPANTS_PER_REQUEST_MAX } from '../limits.ts';
import { count, username } from '../names.ts';
import { POLICY_ACTIONS, POLICY_CROWDS, POLICY_EFFECTS } from './policy-decision.ts';

/** Every decision walks the rules of its action; a hundred cost a few microseconds. [policies_full] */
export const POLICY_RULES_MAX = 100;

/** Groups of an installation; the console lists them whole. [groups_full] */
export const GROUPS_MAX = 1_000;

/** Members of one group: as many as the largest room. [group_full] */
export const GROUP_MEMBERS_MAX = 20_000;

export const groupId = z
  .string()
  .refine((text) => isId('grp', text))
  .meta({ id: 'GroupId', description: 'A group identifier, made by the server.' });

/** A unit is a group that the organisation itself has: a department, a team. Policies speak of both alike. */
export const GROUP_KINDS = ['group', 'unit'] as const;
export type GroupKind = (typeof GROUP_KINDS)[number];

const groupKind = z.enum(GROUP_KINDS);
const groupName = z.string().trim().min(1).max(100);
const members = z.array(username).max(PARTICIPANTS_PER_REQUEST_MAX);

export const createGroup = z
  .strictObject({ name: groupName, kind: groupKind.default('group'), members: members.default([]) })
  .meta({ id: 'CreateGroup' });

/** Renames a group, takes people in and lets people go, in one change. */
export const changeGroup = z
  .strictObject({ name: groupName.optional(), add: members.default([]), remove: members.default([]) })
  .meta({ id: 'ChangeGroup' });

export const group = z
  .strictObject({ id: z.string(), name: z.string(), kind: groupKind, member_count: count, rev: count })
  .meta({ id: 'Group' });
export type Group = z.infer<typeof group>;

export const groupWithMembers = z
  .strictObject({ ...group.shape, members: z.array(username) })
  .meta({ id: 'GroupWithMembers' });

export const groupsReply = z.strictObject({ items: z.array(group), next: z.null() }).meta({ id: 'Groups' });

const selector = z.union([z.enum(POLICY_CROWDS), groupId]);

const rule = {
  action: z.enum(POLICY_ACTIONS),
  from: selector,
  to: selector,
  effect: z.enum(POLICY_EFFECTS),
};

const position = z.int().min(1).max(POLICY_RULES_MAX);

/** A new rule, at the end unless a position is named, which counts from 1. */
export const createPolicy = z.strictObject({ ...rule, position: position.optional() }).meta({ id: 'CreatePolicy' });

export const changePolicy = z
  .strictObject({
    action: rule.action.optional(),
    from: rule.from.optional(),
    to: rule.to.optional(),
    effect: rule.effect.optional(),
    position: position.optional(),
  })
  .meta({ id: 'ChangePolicy' });

export const policy = z
  .strictObject({ id: z.string(), ...rule, from: z.string(), to: z.string(), position })
  .meta({ id: 'Policy' });
export type Policy = z.infer<typeof policy>;

export const policiesReply = z.strictObject({ items: z.array(policy), next: z.null() }).meta({ id: 'Policies' });
