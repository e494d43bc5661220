// Puts the requests of a checked file into the store. Repeating it changes nothing: what is there already is found again.
// Lines that an earlier run had go first: where one of them is another request now, nothing of the file is added.

import { DispatchError, type Dispatcher, type Store } from "batchwise/dispatch";
import { CommandError } from "../shared/failures.ts";
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
export async function enqueueFile(given: Enqueueing): Promise<void> {
  const { input, job, onProgress } = given;
  const known = await knownIds(given);
  let [enqueued, existing] = [known.size, known.size];
  for await (const part of partsOf(input, job)) {
    const added = part.filter(({ request }) => !known.has(request.id));
    existing += await enqueuePart(
      given,
      added,
      "It is enqueued with another file just now, and some of this one is too",
    );
    enqueued += added.length;
    onProgress(enqueued, existing);
  }
}

/** The ids that the store has, once their requests are found to be the same. Adds nothing. */
async function knownIds(given: Enqueueing): Promise<ReadonlySet<string>> {
  const { store, input, job, onProgress } = given;
  const known = new Set<string>();
  if ((await store.usage({ job })).length === 0) return known;
  for await (const part of partsOf(input, job)) {
    const rows = await store.requests({ ids: part.map(({ request }) => request.id), tombstones: true });
    for (const { id } of rows) known.add(id);
    const old = part.filter(({ request }) => known.has(request.id));
    await enqueuePart(given, old, "Nothing of this file was sent in this run");
    onProgress(known.size, known.size);
  }
  return known;
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

/** Gives how many were there before. `onChange`: what to say of the file where a request has changed. */
async function enqueuePart(
  { dispatcher, input }: Enqueueing,
  part: readonly NumberedRequest[],
  onChange: string,
): Promise<number> {
  if (part.length === 0) return 0;
  try {
    const answers = await dispatcher.enqueueMany(part.map(({ request }) => request));
    return answers.filter(({ existing }) => existing).length;
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
