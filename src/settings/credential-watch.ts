/** Credentials from the settings for the messaging threads, which keep what they were told last when this thread is gone. */
import { Refusal } from '#src/protocol/errors.ts';

/** A setting, a lock or an unlock reaches the threads after this time at most. */
const LOOK_MILLIS = 1_000;

/** Looks for a change now and then, and tells it; answers what ends that. */
export function watchCredentials<T>(read: () => T, tell: (credentials: T) => void): () => undefined {
  let told = JSON.stringify(read());
  const timer = setInterval(() => {
    const credentials = read();
    const text = JSON.stringify(credentials);
    if (text === told) return;
    told = text;
    tell(credentials);
  }, LOOK_MILLIS);
  timer.unref();
  return () => {
    clearInterval(timer);
    return undefined;
  };
}

/** What is read; null while there is none, or while its secret is locked away. */
export function unlessLocked<T>(read: () => T | undefined): T | null {
  try {
    return read() ?? null;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'encryption_locked') return null;
    throw error;
  }
}
