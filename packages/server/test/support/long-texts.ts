/** Requests with texts that take a tokenizer long, and the latency of health checks meanwhile. */

import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { hardTexts, MAX_IDS } from "../../../batchwise/test/onnx/text/tokenizer-kinds.ts";
import { exportFolder, tableGraph } from "./exports.ts";

/** A folder named `export` with a model that has this tokenizer. */
export function exportOf(tokenizer: Record<string, unknown>): Promise<string> {
  return exportFolder(tableGraph({ vocabulary: MAX_IDS }), { "tokenizer.json": tokenizer });
}

/** Each hard text by itself, and as many as fit into a body at several lengths, by name. */
export function hardInputs(): ReadonlyMap<string, readonly string[]> {
  const inputs = new Map<string, readonly string[]>();
  for (const [name, text] of Object.entries(hardTexts(51_000))) inputs.set(`51,000 characters of ${name}`, [text]);
  for (const length of [500, 4_000, 51_000]) {
    for (const [name, text] of Object.entries(hardTexts(length))) {
      const input = fullBody(text);
      inputs.set(`${input.length} texts of ${length} characters of ${name}`, input);
    }
  }
  return inputs;
}

/** Almost the largest accepted body. */
const MAX_BODY_BYTES = 7_900_000;
const MAX_TEXTS = 2_048;

/** As many texts as fit into a body. */
export function fullBody(text: string): readonly string[] {
  const count = Math.min(MAX_TEXTS, Math.floor(MAX_BODY_BYTES / Buffer.byteLength(JSON.stringify(text))));
  return new Array<string>(count).fill(text);
}

export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Null if the answer took longer than `patienceMs`, and the caller left. */
export async function embedOf(url: string, input: readonly string[], patienceMs: number): Promise<Answer | null> {
  const body = Buffer.from(JSON.stringify({ model: "export", input }));
  const headers = { "content-type": "application/json" };
  const signal = AbortSignal.timeout(patienceMs);
  try {
    const answer = await fetch(`${url}/v1/embeddings`, { method: "POST", headers, body, signal });
    return { status: answer.status, body: await answer.text() };
  } catch (error) {
    if (signal.aborted) return null;
    throw error;
  }
}

export interface Watched<Value> {
  readonly value: Value;
  /** The longest duration of a health check, each on its own connection. */
  readonly slowestMs: number;
}

/** Requests `/healthz` again and again while the work runs. */
export async function whileHealthy<Value>(url: string, work: () => Promise<Value>): Promise<Watched<Value>> {
  let isOver = false;
  const done = work().finally(() => {
    isOver = true;
  });
  let slowestMs = 0;
  while (!isOver) {
    slowestMs = Math.max(slowestMs, await healthMs(url));
    await sleep(5);
  }
  return { value: await done, slowestMs };
}

function healthMs(url: string): Promise<number> {
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const asked = request(`${url}/healthz`, { agent: false }, (answer) => {
      answer.resume();
      answer.on("end", () => {
        if (answer.statusCode === 200) resolve(performance.now() - startedAt);
        else reject(new Error(`/healthz answered ${answer.statusCode}`));
      });
    });
    asked.on("error", reject);
    asked.end();
  });
}
