// The prompt cache of Claude, as batches use it: an item reads the longest prefix that an earlier
// batch, ended before this one began, has written or read within its time to live. Items of one
// batch read nothing from each other. Follows from the batches alone, so it keeps no state of its
// own. Prefixes of any length are cached, and tokens are counted as a quarter of the characters.

import { createHash } from "node:crypto";
import type { Json, JsonObject } from "../../../dispatch/contract/types.ts";
import type { BatchBook, Ending, FakeBatch } from "../batch-book.ts";
import { isObject } from "../openai/lines.ts";
import type { AnthropicExtra } from "./render.ts";

const HOUR = 3_600_000;
const FIVE_MINUTES = 300_000;
const CHARACTERS_A_TOKEN = 4;
const MARK = '"cache_control"';

type Batch = FakeBatch<AnthropicExtra>;

/** A prefix that ends in a block with `cache_control`. */
interface Prefix {
  readonly digest: string;
  readonly tokens: number;
  readonly lastsMs: number;
}

export class PromptCache {
  readonly #book: BatchBook<AnthropicExtra>;
  /** By batch that has ended: time to live of each prefix that it wrote or read. */
  readonly #used: WeakMap<Batch, ReadonlyMap<string, number>> = new WeakMap();

  constructor(book: BatchBook<AnthropicExtra>) {
    this.#book = book;
  }

  /** The endings of a batch, with cached tokens in the usage of each answer. */
  *endings(batch: Batch): Generator<Ending> {
    const startedAt = this.#book.moment(batch).startedAt ?? 0;
    let warm: ReadonlySet<string> | null = null;
    for (const ending of this.#book.endings(batch)) {
      if (!isCached(ending)) {
        yield ending;
        continue;
      }
      warm ??= this.#warmAt(startedAt);
      yield counted(ending, warm);
    }
  }

  #warmAt(at: number): ReadonlySet<string> {
    const warm = new Set<string>();
    for (const batch of this.#book.endedSince(at - HOUR)) {
      const { endedAt } = this.#book.moment(batch);
      if (endedAt === null || endedAt > at) continue;
      for (const [digest, lastsMs] of this.#usedBy(batch)) if (endedAt + lastsMs > at) warm.add(digest);
    }
    return warm;
  }

  #usedBy(batch: Batch): ReadonlyMap<string, number> {
    const known = this.#used.get(batch);
    if (known !== undefined) return known;
    const used = new Map<string, number>();
    for (const ending of this.#book.endings(batch)) {
      if (!isCached(ending)) continue;
      for (const { digest, lastsMs } of prefixesOf(JSON.parse(ending.entry.body))) {
        used.set(digest, Math.max(lastsMs, used.get(digest) ?? 0));
      }
    }
    this.#used.set(batch, used);
    return used;
  }
}

/** True for an item that ran and succeeded, and has a block with `cache_control`. */
function isCached({ entry, answer }: Ending): boolean {
  return answer !== null && answer.status < 300 && entry.body.includes(MARK);
}

/** A scripted usage that counts cached tokens itself stays as it is. */
function counted({ entry, answer }: Ending, warm: ReadonlySet<string>): Ending {
  const usage = answer?.body.usage;
  if (answer === null || !isObject(usage) || usage.cache_read_input_tokens !== undefined) return { entry, answer };
  const params: JsonObject = JSON.parse(entry.body);
  const prefixes = prefixesOf(params);
  const last = prefixes.at(-1)?.tokens ?? 0;
  const read = prefixes.findLast(({ digest }) => warm.has(digest))?.tokens ?? 0;
  const tokens = {
    input_tokens: Math.max(1, tokensOf(blocksOf(params)) - last),
    cache_creation_input_tokens: last - read,
    cache_read_input_tokens: read,
  };
  return { entry, answer: { ...answer, body: { ...answer.body, usage: { ...usage, ...tokens } } } };
}

/** In order: tools, system, messages. */
function blocksOf({ tools, system, messages }: JsonObject): JsonObject[] {
  const listed = (blocks: Json | undefined): JsonObject[] =>
    typeof blocks === "string"
      ? [{ type: "text", text: blocks }]
      : Array.isArray(blocks)
        ? blocks.filter(isObject)
        : [];
  const turns = listed(messages).flatMap(({ role, content }) => listed(content).map((block) => ({ role, ...block })));
  return [...listed(tools), ...listed(system), ...(turns as JsonObject[])];
}

function prefixesOf(params: JsonObject): Prefix[] {
  const found: Prefix[] = [];
  const digest = createHash("sha1").update(String(params.model));
  let tokens = 0;
  for (const { cache_control: mark, ...block } of blocksOf(params)) {
    digest.update(JSON.stringify(block));
    tokens += tokensOf([block]);
    if (!isObject(mark)) continue;
    const lastsMs = mark.ttl === "1h" ? HOUR : FIVE_MINUTES;
    found.push({ digest: digest.copy().digest("base64url"), tokens, lastsMs });
  }
  return found;
}

function tokensOf(blocks: readonly JsonObject[]): number {
  const characters = blocks.reduce((sum, { cache_control: _mark, ...block }) => sum + JSON.stringify(block).length, 0);
  return Math.ceil(characters / CHARACTERS_A_TOKEN);
}
