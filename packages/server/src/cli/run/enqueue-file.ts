// Puts the requests of a file into the store. All of it is checked first, against the accounts and against what the store
// has of the job, so that a file that is refused leaves nothing behind. Repeating it changes nothing: what is there already
// is found again. Holds a thousand requests, or 16 MB and one, in memory.

import { DispatchError, type Dispatcher, type DispatchRequest, type Store } from "batchwise/dispatch";
import { CommandError } from "../shared/failures.ts";
import { type NumberedRequest, requestsOf } from "./input-file.ts";

const AT_ONCE = 1_000;
const CHARACTERS_AT_ONCE = 16_000_000;

export interface Enqueueing {
  readonly dispatcher: Dispatcher;
  readonly store: Store;
  readonly input: string;
  readonly job: string;
  /** Told after each part: how many are in the store, and how many of them were there before. */
  readonly onProgress: (enqueued: number, known: number) => void;
}

/** Rejects with a CommandError that names the line for a request that no account takes, or that was another before. */
export async function enqueueFile(enqueueing: Enqueueing): Promise<void> {
  const { dispatcher, input, job, onProgress } = enqueueing;
  await checkFile(enqueueing);
  let [enqueued, known]: [number, number] = [0, 0];
  for await (const part of partsOf(input, job)) {
    for (const { existing } of await enqueuePart(dispatcher, part, input)) known += existing ? 1 : 0;
    enqueued += part.length;
    onProgress(enqueued, known);
  }
}

/** Stores nothing. */
async function checkFile({ dispatcher, store, input, job }: Enqueueing): Promise<void> {
  let last: NumberedRequest | undefined;
  async function* requests(): AsyncGenerator<DispatchRequest> {
    for await (const part of partsOf(input, job)) {
      for (const numbered of part) {
        last = numbered;
        yield numbered.request;
      }
      // Those that the store has already: to enqueue them again changes nothing, and refuses one that is another now.
      const ids = part.map(({ request }) => request.id);
      const stored = new Set((await store.requests({ ids, tombstones: true })).map(({ id }) => id));
      const old = part.filter(({ request }) => stored.has(request.id));
      await enqueuePart(dispatcher, old, input);
    }
  }
  try {
    await dispatcher.estimate(requests());
  } catch (error) {
    throw error instanceof DispatchError && last !== undefined ? inLine(error, last, input) : error;
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

async function enqueuePart(
  dispatcher: Dispatcher,
  part: readonly NumberedRequest[],
  input: string,
): Promise<readonly { readonly existing: boolean }[]> {
  try {
    return await dispatcher.enqueueMany(part.map(({ request }) => request));
  } catch (error) {
    const place = error instanceof DispatchError ? PLACE.exec(error.message)?.[1] : undefined;
    const numbered = place === undefined ? undefined : part[Number(place)];
    throw numbered === undefined ? error : inLine(error as DispatchError, numbered, input);
  }
}

const PLACE = /^requests\[(\d+)\]: /;

/** Of an error that names no place, such as the store's, nothing is changed. */
function inLine(error: DispatchError, numbered: NumberedRequest, input: string): unknown {
  if (!PLACE.test(error.message)) return error;
  // Without the cause, which would say the same again.
  return new CommandError(`${input}: Line ${numbered.line}: ${adviceFor(error, numbered)}`);
}

function adviceFor(error: DispatchError, { request }: NumberedRequest): string {
  if (error.code === "MISSING_MODEL") return "expected a `model` in the body, got none: add it, or pass --model.";
  if (error.code === "DUPLICATE_ID") {
    const job = `the job "${request.job}"`;
    return `${job} has another request of this id or place, from an earlier run. Pass another --job for a changed file.`;
  }
  return error.message.replace(PLACE, "");
}
