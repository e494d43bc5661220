/** The dispatcher's texts: names, lines of batch files, digests, and parsing of result files. */
import * as encode from "../../packages/batchwise/src/dispatch/format/encode.ts";
import { readJsonLines } from "../../packages/batchwise/src/dispatch/providers/shapes/lines/read-lines.ts";
import type { PureFunctions } from "./pure-functions.ts";

const KEY = encode.ulid(1_700_000_000_000, () => 0.5);
const BODY = JSON.stringify({ model: "m", messages: [{ role: "user", content: "x".repeat(2_000) }] });
const ENDPOINT = "/v1/chat/completions";
const RESULTS = 1_000;

async function* resultFile(): AsyncGenerator<Uint8Array> {
  const line = `{"custom_id":"${encode.customId(KEY, 1)}","response":{"status_code":200,"body":${BODY}}}\n`;
  const file = Buffer.from(line.repeat(RESULTS));
  for (let from = 0; from < file.length; from += 65_536) yield file.subarray(from, from + 65_536);
}

async function countLines(): Promise<number> {
  let count = 0;
  for await (const _line of readJsonLines(resultFile())) count += 1;
  return count;
}

const request = { endpoint: ENDPOINT, body: BODY, customId: encode.SAMPLE_CUSTOM_ID } as const;

export const lines: PureFunctions = {
  ulid: () => () => encode.ulid(1_700_000_000_000, Math.random),
  customId: () => () => encode.customId(KEY, 4_711),
  parseCustomId: () => {
    const id = encode.customId(KEY, 4_711);
    return () => encode.parseCustomId(id);
  },
  parseLane: () => () => encode.parseLane(`${ENDPOINT}  m`),
  "openaiLine and its length": () => () => encode.utf8Length(encode.openaiLine(request)),
  digestOf: () => () => encode.digestOf(ENDPOINT, BODY),
  [`readJsonLines: ${RESULTS} lines of 2 KB`]: () => countLines,
};
