/** Ending the session, from wherever it is offered. */
import { createContext, useContext } from 'react';

export const SignOutContext = createContext<() => void>(() => undefined);

export function useSignOut(): () => void {
  return useContext(SignOutContext);
}
