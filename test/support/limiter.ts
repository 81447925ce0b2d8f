/** Limiters for tests that hold the clock. */
import { makeLimiterMemory } from '#src/limits/bucket-table.ts';
import { Limiter } from '#src/limits/limiter.ts';
import { makePolicies, type Policies, type PolicySettings } from '#src/limits/policies.ts';

const NANOS_PER_MILLI = 1_000_000n;
const DEFAULTS: PolicySettings = { rateLimits: 1, loginAttemptsPerMinute: 10, recoveriesPerMinute: 10 };

/** A limiter of its own that goes by a clock of milliseconds, with policies `instead` of those of the settings. */
export function limiterBy(
  clock: { now(): number },
  settings: Partial<PolicySettings> = {},
  instead: Partial<Policies> = {},
): Limiter {
  const nowNanos = () => BigInt(clock.now()) * NANOS_PER_MILLI;
  const policies = { ...makePolicies({ ...DEFAULTS, ...settings }), ...instead };
  return new Limiter(makeLimiterMemory(), policies, nowNanos);
}
