/** The dispatcher's texts: names, lines of batch files, digests, and reading result files back. */
import { bench, do_not_optimize, group } from "mitata";
import * as encode from "../../packages/batchwise/src/dispatch/format/encode.ts";
import { readJsonLines } from "../../packages/batchwise/src/dispatch/providers/shapes/read-lines.ts";

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

export function lines(): void {
  group("names", () => {
    const id = encode.customId(KEY, 4_711);
    bench("ulid", () => do_not_optimize(encode.ulid(1_700_000_000_000, Math.random)));
    bench("customId", () => do_not_optimize(encode.customId(KEY, 4_711)));
    bench("parseCustomId", () => do_not_optimize(encode.parseCustomId(id)));
    bench("parseLane", () => do_not_optimize(encode.parseLane(`${ENDPOINT}  m`)));
  });
  group("a request of 2 KB", () => {
    const request = { endpoint: ENDPOINT, body: BODY, customId: encode.SAMPLE_CUSTOM_ID } as const;
    bench("openaiLine and its length", () => do_not_optimize(encode.utf8Length(encode.openaiLine(request))));
    bench("digestOf", () => do_not_optimize(encode.digestOf(ENDPOINT, BODY)));
  });
  group("results", () => {
    bench(`readJsonLines: ${RESULTS} lines of 2 KB`, async () => do_not_optimize(await countLines()));
  });
}
