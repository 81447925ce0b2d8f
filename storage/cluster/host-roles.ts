/** What a host is to its cluster, as it says. */
export const HOST_ROLES = ['leads', 'follows', 'takes_a_snapshot', 'cannot_store'] as const;
