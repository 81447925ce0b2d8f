/**
 * Remote procedure calls between threads, typed: what threads do for each other beside their actors, by name.
 *
 * One map of types says what each service is asked or told with, and what it answers. Whoever calls and whoever serves is
 * held to it: a body of another shape, and a service that nobody serves, do not compile. Bodies and answers are plain
 * data, packed by the link; a field that is `undefined` here would arrive as `null`, so none is.
 */
import { Refusal } from '#src/protocol/errors.ts';
import { refused, type Answer } from './actor.ts';

/** A service is asked and answers, or is told and does not. Names are `noun.verb`, without the colon of an address. */
export type ServiceMap = Readonly<Record<string, Asked | Told>>;

interface Asked {
  readonly ask: unknown;
  readonly answer: unknown;
}

interface Told {
  readonly tell: unknown;
}

/** What the main thread does for shards, and what each shard does for the main thread and the other shards. */
export interface ThreadServiceMaps {
  readonly main: ServiceMap;
  readonly shard: ServiceMap;
}

/** The names of a map that are asked. */
export type AskedName<M> = { [N in keyof M]: M[N] extends Asked ? N : never }[keyof M] & string;
/** The names of a map that are told. */
export type TellName<M> = { [N in keyof M]: M[N] extends Told ? N : never }[keyof M] & string;
/** What a service is asked with. */
export type AskBody<M, N extends keyof M> = M[N] extends { readonly ask: infer Body } ? Body : never;
/** What a service answers. */
export type AnswerOf<M, N extends keyof M> = M[N] extends { readonly answer: infer Value } ? Value : never;
/** What a service is told. */
export type TellBody<M, N extends keyof M> = M[N] extends { readonly tell: infer Body } ? Body : never;

/** Serves every name of a map. A handler that is asked may throw a Refusal; where the answer is `null` it returns nothing. */
export type ServiceHandlers<M> = {
  readonly [N in keyof M]: M[N] extends { readonly ask: infer Body; readonly answer: infer Value }
    ? (body: Body) => Served<Value>
    : M[N] extends { readonly tell: infer Body }
      ? (body: Body) => void
      : never;
};

type Served<Value> = [Value] extends [null] ? Promise<void> | void : Promise<Value> | Value;

type AnyHandler = (body: unknown) => unknown;

/** The services of one thread: finds the handler of a name, and makes an answer of whatever it returns or throws. */
export class ServiceTable {
  readonly #handlers = new Map<string, AnyHandler>();
  readonly #failed: (name: string, error: unknown) => void;

  /**
   * Takes handlers as `ServiceHandlers` has them: what arrives under a name was held to the same map by whoever sent it.
   * `failed` hears of a handler that threw what is no Refusal, and of a name that nothing serves.
   */
  constructor(groups: readonly object[], failed: (name: string, error: unknown) => void) {
    this.#failed = failed;
    for (const [name, handler] of groups.flatMap((group) => Object.entries(group) as [string, AnyHandler][])) {
      if (this.#handlers.has(name)) throw new Error(`Two services are called ${name}.`);
      this.#handlers.set(name, handler);
    }
  }

  /** The answer of a service; `internal` for a failure. */
  async ask(name: string, body: unknown): Promise<Answer> {
    try {
      return { ok: true, value: (await this.#handlerOf(name)(body)) ?? null };
    } catch (error) {
      if (error instanceof Refusal) return refused(error.code, error.field, error.retryAfter, error.limit);
      this.#failed(name, error);
      return refused('internal');
    }
  }

  /** What a handler throws goes on: it is a bug of this thread. */
  tell(name: string, body: unknown): void {
    this.#handlerOf(name)(body);
  }

  #handlerOf(name: string): AnyHandler {
    const handler = this.#handlers.get(name);
    if (handler === undefined) throw new Error(`No service is called ${name}.`);
    return handler;
  }
}

/** The value of an answer. @throws Refusal with the code, field and seconds of one that is no answer. */
export function valueOf<Value>(answer: Answer<Value>): Value {
  if (answer.ok) return answer.value;
  throw new Refusal(answer.code, { field: answer.field, limit: answer.limit, retryAfter: answer.retryAfter });
}

/** The values of those that answered. */
export function valuesOf<Value>(answers: readonly Answer<Value>[]): Value[] {
  return answers.flatMap((answer) => (answer.ok ? [answer.value] : []));
}
