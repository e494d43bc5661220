// Puts the requests of a checked file into the store. Repeating it changes nothing: what is there already is found again.

import { DispatchError, type Dispatcher, type Store } from "batchwise/dispatch";
import { CommandError, EXIT } from "../shared/failures.ts";
import { type NumberedRequest, requestsOf } from "./input-file.ts";

const AT_ONCE = 1_000;

export interface Enqueueing {
  readonly dispatcher: Dispatcher;
  readonly store: Store;
  readonly input: string;
  readonly job: string;
  /** Told after each part: how many are in the store, and how many of them were there before. */
  readonly onProgress: (enqueued: number, known: number) => void;
}

/** Rejects with a CommandError that names the line for a request that no account takes, or that was another before. */
export async function enqueueFile({ dispatcher, store, input, job, onProgress }: Enqueueing): Promise<void> {
  let [enqueued, known]: [number, number] = [0, 0];
  const add = async (part: readonly NumberedRequest[]): Promise<void> => {
    for (const { existing } of await enqueuePart(dispatcher, store, part, input)) known += existing ? 1 : 0;
    enqueued += part.length;
    onProgress(enqueued, known);
  };
  let part: NumberedRequest[] = [];
  for await (const numbered of requestsOf(input, job)) {
    part.push(numbered);
    if (part.length < AT_ONCE) continue;
    await add(part);
    part = [];
  }
  if (part.length > 0) await add(part);
}

async function enqueuePart(
  dispatcher: Dispatcher,
  store: Store,
  part: readonly NumberedRequest[],
  input: string,
): Promise<readonly { readonly existing: boolean }[]> {
  const ids = part.map(({ request }) => request.id);
  const before = new Set((await store.requests({ ids })).map(({ id }) => id));
  try {
    return await dispatcher.enqueueMany(part.map(({ request }) => request));
  } catch (error) {
    if (!(error instanceof DispatchError)) throw error;
    if (error.code === "DUPLICATE_ID") {
      // The others of the call were stored. This file is not going to be run: they must not be sent later.
      for (const id of ids) if (!before.has(id)) await dispatcher.cancel(id);
    }
    throw inLine(error, part, input);
  }
}

const PLACE = /^requests\[(\d+)\]: /;

function inLine(error: DispatchError, part: readonly NumberedRequest[], input: string): unknown {
  const place = PLACE.exec(error.message)?.[1];
  const numbered = place === undefined ? undefined : part[Number(place)];
  if (numbered === undefined) return error;
  const where = `${input}: Line ${numbered.line}`;
  return new CommandError(`${where}: ${adviceFor(error, numbered)}`, EXIT.usage, error);
}

function adviceFor(error: DispatchError, { request }: NumberedRequest): string {
  if (error.code === "MISSING_MODEL") return "expected a `model` in the body, got none: add it, or pass --model.";
  if (error.code === "DUPLICATE_ID") {
    const job = `the job "${request.job}"`;
    return `${job} has another request of this id or place, from an earlier run. Pass another --job for a changed file.`;
  }
  return error.message.replace(PLACE, "");
}
