// Adds the requests of a checked file to the store. Repeating it changes nothing: requests that are
// there already are recognised. The whole file is checked against the accounts and the store first,
// so that nothing of a file with a mistake is added.

import { DispatchError, type Dispatcher, type Store } from "batchwise/dispatch";
import { CommandError } from "../common/failures.ts";
import { type NumberedRequest, requestsOf } from "./input-file.ts";

/**
 * Size of a part in memory: this many requests, or this many characters and the request that
 * exceeds them.
 */
const AT_ONCE = 1_000;
const CHARACTERS_AT_ONCE = 16_000_000;

/** Message for a changed request: in the check, and after it if another process was faster. */
const NOTHING_SENT = "Nothing of this file was sent in this run";
const SOME_STORED = "Another process has enqueued it just now, and some of this file is in the store too";

export interface Enqueueing {
  readonly dispatcher: Dispatcher;
  readonly store: Store;
  readonly input: string;
  readonly job: string;
  /**
   * Called after each part: number of requests in the store, and how many of them were there
   * before.
   */
  readonly onProgress: (enqueued: number, known: number) => void;
}

/**
 * Rejects with a CommandError that names the line of a request that no account takes, or that has
 * changed.
 */
export async function enqueueFile({ dispatcher, store, input, job, onProgress }: Enqueueing): Promise<void> {
  for await (const part of partsOf(input, job)) await checkPart(dispatcher, store, part, input);
  let [enqueued, known]: [number, number] = [0, 0];
  for await (const part of partsOf(input, job)) {
    for (const { existing } of await enqueuePart(dispatcher, part, input, SOME_STORED)) known += existing ? 1 : 0;
    enqueued += part.length;
    onProgress(enqueued, known);
  }
}

async function* partsOf(input: string, job: string): AsyncGenerator<readonly NumberedRequest[]> {
  let [part, characters]: [NumberedRequest[], number] = [[], 0];
  for await (const numbered of requestsOf(input, job)) {
    part.push(numbered);
    characters += JSON.stringify(numbered.request.body).length;
    if (part.length < AT_ONCE && characters < CHARACTERS_AT_ONCE) continue;
    yield part;
    [part, characters] = [[], 0];
  }
  if (part.length > 0) yield part;
}

/** Adds nothing: compares requests that the store has with the file's. */
async function checkPart(
  dispatcher: Dispatcher,
  store: Store,
  part: readonly NumberedRequest[],
  input: string,
): Promise<void> {
  await inFile(dispatcher.estimate(part.map(({ request }) => request)), part, input, NOTHING_SENT);
  const rows = await store.requests({ ids: part.map(({ request }) => request.id), tombstones: true });
  const ids = new Set(rows.map(({ id }) => id));
  const known = part.filter(({ request }) => ids.has(request.id));
  if (known.length > 0) await enqueuePart(dispatcher, known, input, NOTHING_SENT);
}

function enqueuePart(
  dispatcher: Dispatcher,
  part: readonly NumberedRequest[],
  input: string,
  onChange: string,
): ReturnType<Dispatcher["enqueueMany"]> {
  return inFile(dispatcher.enqueueMany(part.map(({ request }) => request)), part, input, onChange);
}

/** Runs a call with the whole part; its error names the line that causes it. */
async function inFile<Result>(
  call: Promise<Result>,
  part: readonly NumberedRequest[],
  input: string,
  onChange: string,
): Promise<Result> {
  try {
    return await call;
  } catch (error) {
    throw error instanceof DispatchError ? inLine(error, part, input, onChange) : error;
  }
}

const PLACE = /^requests\[(\d+)\]: /;

function inLine(error: DispatchError, part: readonly NumberedRequest[], input: string, onChange: string): unknown {
  const place = PLACE.exec(error.message)?.[1];
  const numbered = place === undefined ? undefined : part[Number(place)];
  if (numbered === undefined) return error;
  const { line, request } = numbered;
  if (error.code === "DUPLICATE_ID") {
    const what = `is another request than in an earlier run of the job "${request.job}"`;
    return new CommandError(`Line ${line} of ${input} ${what}: pass another --job. ${onChange}.`);
  }
  const isModel = error.code === "MISSING_MODEL";
  const missing = "expected a `model` in the body, got none: add it, or pass --model.";
  return new CommandError(`${input}: Line ${line}: ${isModel ? missing : error.message.replace(PLACE, "")}`);
}
