/**
 * `POST /v1/embeddings`: tokenises, passes every text to the embedder, answers in OpenAI's form.
 *
 * Guarantees: vectors are in the order of the input. Either all texts are answered or none. When a
 * caller disconnects, or the deadline passes, its waiting texts leave the queue, and no more of its
 * body is read or tokenised. Only a large body that a thread already parses is parsed to its end.
 */

import type { Embedder } from "../../models/embedder.ts";
import { deadlineExceeded, invalidRequest, moreThanTheQueueHolds } from "../errors.ts";
import type { LargeAnswers } from "../large-bodies/large-answers.ts";
import { Upload, type Uploads } from "../large-bodies/uploads.ts";
import type { Work } from "../monitoring/access-log.ts";
import { type BodyLimits, checkIsPlain, readBytes, type Unread } from "../requests/body.ts";
import { callerOf } from "../requests/caller.ts";
import { checkIsJson } from "../requests/json-only.ts";
import { readUrgency } from "../requests/request-headers.ts";
import { withinDeadline } from "../requests/within-deadline.ts";
import { writeEmbeddings } from "./embeddings-answer.ts";
import type { EmbeddingsRequest } from "./embeddings-request.ts";
import type { RequestParser } from "./request-parser.ts";

export interface EmbeddingsServices {
  readonly embedder: Embedder;
  readonly bodyLimits: BodyLimits;
  readonly uploads: Uploads;
  readonly answers: LargeAnswers;
  readonly parser: RequestParser;
}

/** `note` is called with the amount of work when that is known. */
export async function answerEmbeddings(
  { request, exchange }: Unread,
  services: EmbeddingsServices,
  note: (work: Work) => void,
): Promise<Response> {
  const { embedder, answers } = services;
  // Read before the first wait, so that it also aborts if the caller leaves while the body is read.
  const { signal } = request;
  const arrivedAt = performance.now();
  checkIsJson(request.headers);
  checkIsPlain(request.headers);
  answers.checkRoom();
  const { priority, timeoutMs } = readUrgency(request.headers, embedder.batcher.options.timeoutMs);
  const { lists, ...asked } = await withinDeadline(signal, timeoutMs, (ending) =>
    readRequest({ request, exchange }, services, ending),
  );
  const tokens = lists.reduce((sum, list) => sum + list.length, 0);
  note({ texts: lists.length, tokens });
  const leftMs = timeoutMs - (performance.now() - arrivedAt);
  if (leftMs <= 0) throw deadlineExceeded();
  const caller = callerOf(request.headers, asked.user);
  const vectors = await embedder.embed(lists, { signal, priority, timeoutMs: leftMs, caller });
  const { encoding, dimensions } = asked;
  const answer = { model: embedder.model.name, tokens, vectors, encoding, dimensions };
  const headers = { "content-type": "application/json" };
  const bytes = vectors.length * embedder.model.dimensions * Float32Array.BYTES_PER_ELEMENT;
  if (bytes > SMALL_ANSWER_BYTES) {
    return new Response(answers.send({ pieces: writeEmbeddings(answer), bytes, exchange }), { headers });
  }
  return new Response([...writeEmbeddings(answer)].join(""), { headers });
}

/** About 64 KiB as text, which a socket takes at once. */
const SMALL_ANSWER_BYTES = 16_384;

interface TokenRequest extends Pick<EmbeddingsRequest, "encoding" | "dimensions" | "user"> {
  readonly lists: readonly ArrayLike<number>[];
}

/**
 * Reads and tokenises a request until the signal aborts. Its body counts among the uploads until
 * only its tokens are held.
 */
async function readRequest(
  unread: Unread,
  { embedder, bodyLimits, uploads, parser }: EmbeddingsServices,
  signal: AbortSignal,
): Promise<TokenRequest> {
  // Without a key, many callers behind a proxy may share an address.
  const caller = callerOf(unread.request.headers, null) || unread.exchange.address;
  const upload = new Upload(uploads, caller);
  try {
    const bytes = await readBytes(unread, bodyLimits, upload, signal);
    const { inputs, ...asked } = await parser.parse(bytes, signal);
    const { maxQueueSize } = embedder.batcher.options;
    if (inputs.length > maxQueueSize) throw moreThanTheQueueHolds(inputs.length, maxQueueSize);
    return { ...asked, lists: await tokenLists(inputs, embedder, signal) };
  } finally {
    upload.end();
  }
}

async function tokenLists(
  inputs: EmbeddingsRequest["inputs"],
  embedder: Embedder,
  signal: AbortSignal,
): Promise<ArrayLike<number>[]> {
  const { maxTokens, name } = embedder.model;
  const placeOf = (index: number): string => (inputs.length === 1 ? "input" : `input[${index}]`);
  const textsAt = [...inputs.keys()].filter((index) => typeof inputs[index] === "string");
  const counts = await embedder.tokenize(
    inputs.filter((input) => typeof input === "string"),
    { signal, nameOf: (text) => placeOf(textsAt[text] ?? text) },
  );
  let next = 0;
  return inputs.map((input, index) => {
    const { ids, tokens } =
      typeof input === "string" ? (counts[next++] ?? { ids: null, tokens: 0 }) : { ids: input, tokens: input.length };
    const place = placeOf(index);
    if (tokens === 0) throw invalidRequest(`\`${place}\` has no tokens.`, "input", "invalid_input");
    if (ids !== null && tokens <= maxTokens) return ids;
    const message = `The model \`${name}\` takes at most ${maxTokens} tokens, but \`${place}\` has ${tokens} tokens. Please shorten it.`;
    throw invalidRequest(message, "input", "context_length_exceeded");
  });
}
