/** Access policies: an ordered list of rules about who may see, message, call and invite whom (POL-01). */
import type { Policies } from '#src/directory/policies.ts';
import * as policies from '#src/protocol/directory/policies.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

export const policiesRoutes = {
  listPolicies: consoleRoute.get(
    '/policies',
    'The rules in the order in which they are tried; the first that fits decides.',
    { access: 'users:read', vendor: 'open', replies: { 200: policies.policiesReply } },
  ),
  createPolicy: consoleRoute.post('/policies', 'Adds a rule. It is in force on every thread when this is answered.', {
    access: 'users:write',
    vendor: 'closed',
    audit: 'policy.created',
    body: policies.createPolicy,
    replies: { 201: policies.policy },
    errors: ['policies_full'],
  }),
  changePolicy: consoleRoute.patch('/policies/:policy', 'Changes a rule or moves it.', {
    access: 'users:write',
    vendor: 'closed',
    audit: 'policy.changed',
    body: policies.changePolicy,
    replies: { 200: policies.policy },
    errors: ['policy_not_found'],
  }),
  deletePolicy: consoleRoute.delete('/policies/:policy', 'Removes a rule.', {
    access: 'users:write',
    vendor: 'closed',
    audit: 'policy.deleted',
    replies: { 204: null },
    errors: ['policy_not_found'],
  }),
} as const satisfies Record<string, ConsoleRoute>;

export function makePoliciesPage({ policies: rules }: { readonly policies: Policies }): ConsolePage {
  return page(policiesRoutes, {
    listPolicies: () => ({ status: 200, body: { items: rules.list(), next: null } }),
    createPolicy: async ({ by, body }) => ({
      status: 201,
      body: await rules.create(body, by),
    }),
    changePolicy: async ({ by, body, parameters }) => ({
      status: 200,
      body: await rules.change(parameters.policy, body, by),
    }),
    deletePolicy: async ({ by, parameters }) => {
      await rules.remove(parameters.policy, by);
      return { status: 204 };
    },
  });
}
