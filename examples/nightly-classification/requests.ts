// The task: one line of the input becomes one request, one outcome becomes one label. The id of a line is the id of its
// request, so that a line is the same request in every run. Nothing here knows which provider answers.

import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { DispatchRequest, LoggedOutcome } from "batchwise/dispatch";
import { Refusal } from "./refusal.ts";

export const LABELS = ["billing", "bug", "shipping", "other"] as const;

const TASK = `You sort messages to a shop. Answer with one word, and nothing else: ${LABELS.join(", ")}.`;
const LINES_AT_ONCE = 1_000;

interface Line {
  readonly id: string;
  readonly text: string;
}

/** The requests of an input file, many at a time, without reading all of it into memory. */
export async function* requestsOf(path: string): AsyncGenerator<DispatchRequest[]> {
  let requests: DispatchRequest[] = [];
  let number = 0;
  for await (const text of createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })) {
    number += 1;
    if (text.trim() === "") continue;
    requests.push(requestOf(parse(text, `${path}:${number}`)));
    if (requests.length < LINES_AT_ONCE) continue;
    yield requests;
    requests = [];
  }
  if (requests.length > 0) yield requests;
}

function parse(text: string, place: string): Line {
  let line: Partial<Line> | null = null;
  try {
    line = JSON.parse(text);
  } catch (cause) {
    throw new Refusal(`${place} is not JSON.`, { cause });
  }
  if (typeof line?.id === "string" && typeof line.text === "string") return { id: line.id, text: line.text };
  throw new Refusal(`${place} needs an "id" and a "text".`);
}

/** Model and sampling are not part of it: they are `requestDefaults`, and may change without making it another request. */
function requestOf({ id, text }: Line): DispatchRequest {
  const messages = [
    { role: "system", content: TASK },
    { role: "user", content: text },
  ];
  return { id, body: { messages } };
}

/** The label in an answer; null where there is none, or the model said something else. */
export function labelOf({ response }: LoggedOutcome): string | null {
  const body = response?.body as Completion | undefined;
  const said = body?.choices?.[0]?.message?.content ?? "";
  return LABELS.find((label) => said.toLowerCase().includes(label)) ?? null;
}

interface Completion {
  readonly choices?: readonly { readonly message?: { readonly content?: string | null } }[];
}
