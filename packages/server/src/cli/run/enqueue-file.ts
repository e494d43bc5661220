// Puts the requests of a checked file into the store. Repeating it changes nothing: what is there already is found again.
// All of the file is held against the accounts and the store first, so that nothing is added of one with a mistake in it.

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
  for await (const part of partsOf(input, job)) await checkPart(dispatcher, store, part, input);
  let [enqueued, known]: [number, number] = [0, 0];
  for await (const part of partsOf(input, job)) {
    for (const { existing } of await enqueuePart(dispatcher, part, input)) known += existing ? 1 : 0;
    enqueued += part.length;
    onProgress(enqueued, known);
  }
}

async function* partsOf(input: string, job: string): AsyncGenerator<readonly NumberedRequest[]> {
  let part: NumberedRequest[] = [];
  for await (const numbered of requestsOf(input, job)) {
    part.push(numbered);
    if (part.length < AT_ONCE) continue;
    yield part;
    part = [];
  }
  if (part.length > 0) yield part;
}

/** Adds nothing: those that the store knows are compared with what it has. */
async function checkPart(
  dispatcher: Dispatcher,
  store: Store,
  part: readonly NumberedRequest[],
  input: string,
): Promise<void> {
  await inFile(dispatcher.estimate(part.map(({ request }) => request)), part, input);
  const rows = await store.requests({ ids: part.map(({ request }) => request.id), tombstones: true });
  const ids = new Set(rows.map(({ id }) => id));
  const known = part.filter(({ request }) => ids.has(request.id));
  if (known.length > 0) await enqueuePart(dispatcher, known, input);
}

function enqueuePart(
  dispatcher: Dispatcher,
  part: readonly NumberedRequest[],
  input: string,
): ReturnType<Dispatcher["enqueueMany"]> {
  return inFile(dispatcher.enqueueMany(part.map(({ request }) => request)), part, input);
}

/** What a call with all of the part rejects with, by the line that it is about. */
async function inFile<Result>(call: Promise<Result>, part: readonly NumberedRequest[], input: string): Promise<Result> {
  try {
    return await call;
  } catch (error) {
    throw error instanceof DispatchError ? inLine(error, part, input) : error;
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
