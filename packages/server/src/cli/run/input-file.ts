// Reads the input of `batchwise run` twice: once to check all of it, so that nothing of a file with
// a mistake is sent, and once to enqueue it. Memory holds the ids, not the requests.

import { createReadStream, statSync } from "node:fs";
import { basename } from "node:path";
import {
  type BatchLine,
  DispatchError,
  type DispatchRequest,
  type Endpoint,
  lineOf,
  readRequests,
} from "batchwise/dispatch";
import { CommandError } from "../common/failures.ts";

/** A request for the store, and its line. */
export interface NumberedRequest {
  readonly request: DispatchRequest & { readonly id: string };
  readonly line: number;
}

/** The input's file name without its last extension. */
export function jobOf(path: string): string {
  const name = basename(path);
  return name.replace(/(?<=.)\.[^.]+$/, "");
}

/**
 * Ids are unique in the whole store, but the writer of a file makes them unique only within it, so
 * the job's name is added.
 */
export function storeId(job: string, id: string): string {
  return `${job}:${id}`;
}

/** The id in the file, or the request's index from 0 if the file has no id. */
export function fileId(job: string, id: string): string {
  return id.startsWith(`${job}:`) ? id.slice(job.length + 1) : id;
}

/**
 * Pure. The request for the store; a batch line is also converted, so that `--model` applies to it.
 */
export function namedRequest(given: DispatchRequest | BatchLine, job: string, index: number): NumberedRequest {
  const line = lineOf(given) ?? index + 1;
  const { id = String(index), ...request } = "custom_id" in given ? fromLine(given) : given;
  if (request.job !== undefined && request.job !== job) {
    const expected = `expected no \`job\`, or "${job}", which is the job of this run`;
    throw new CommandError(`Line ${line}: ${expected} (see --job), got "${request.job}".`);
  }
  return { request: { ...request, job, id: storeId(job, id) }, line };
}

function fromLine({ custom_id: id, url, body }: BatchLine): DispatchRequest {
  return { id, endpoint: url as Endpoint, body };
}

/** The file's requests, in its order. */
export async function* requestsOf(path: string, job: string): AsyncGenerator<NumberedRequest> {
  let index = 0;
  for await (const request of readRequests(createReadStream(path, { highWaterMark: 1 << 20 }))) {
    yield namedRequest(request, job, index);
    index += 1;
  }
}

/**
 * Reads the whole file. Throws a CommandError for a file that is missing or empty, has a bad line,
 * or has an id twice.
 */
export async function checkInput(path: string, job: string): Promise<number> {
  checkIsFile(path);
  const ids = new Set<string>();
  try {
    for await (const { request, line } of requestsOf(path, job)) {
      if (ids.has(request.id)) {
        const id = fileId(job, request.id);
        throw new CommandError(`Line ${line}: expected an id that no other line has, got "${id}" again.`);
      }
      ids.add(request.id);
    }
  } catch (error) {
    throw inFile(path, error);
  }
  if (ids.size === 0) throw new CommandError(`${path} has no requests: expected one JSON object a line.`);
  return ids.size;
}

function checkIsFile(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw new CommandError(`There is no file ${path}.`);
  if (found.isDirectory()) throw new CommandError(`${path} is a folder: expected a file of JSONL.`);
  if (found.isFile()) return;
  // The file is read more than once, and a pipe yields its lines only once.
  throw new CommandError(
    `${path} is a pipe or a device: expected a file, which can be read twice. Write it to one first.`,
  );
}

function inFile(path: string, error: unknown): unknown {
  if (error instanceof CommandError) return new CommandError(`${path}: ${error.message}`);
  // Without the cause, which has the same message.
  if (error instanceof DispatchError) return new CommandError(`${path}: ${error.message}`);
  return error;
}
