/**
 * A batch provider in its own process, so that the memory of the dispatcher's process is only the
 * dispatcher's. It implements OpenAI's files and batches, streams uploads and results, and keeps
 * only the custom ids of a file. Every batch is complete at its first poll; results come in the
 * reverse order of the lines.
 *
 * Prints its port on the first line of its output, and ends with its standard input.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { completion } from "./work.ts";

interface Batch {
  readonly id: string;
  readonly input_file_id: string;
  readonly metadata: unknown;
  readonly created_at: number;
}

const LINE = '{"custom_id":"';
const LINES_A_WRITE = 200;
const answer = JSON.stringify(completion);

/** The custom ids of each file. */
const files = new Map<string, readonly string[]>();
const batches = new Map<string, Batch>();

async function upload(request: IncomingMessage): Promise<object> {
  const ids: string[] = [];
  for await (const line of createInterface({ input: request, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (line.startsWith(LINE)) ids.push(line.slice(LINE.length, line.indexOf('"', LINE.length)));
  }
  const id = `file-${files.size + 1}`;
  files.set(id, ids);
  return { id, object: "file", filename: "input.jsonl", purpose: "batch" };
}

async function create(request: IncomingMessage): Promise<object> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += String(chunk);
  const { input_file_id, metadata } = JSON.parse(text) as Batch;
  const batch = {
    id: `batch-${batches.size + 1}`,
    input_file_id,
    metadata,
    created_at: Math.floor(Date.now() / 1_000),
  };
  batches.set(batch.id, batch);
  return { ...batch, object: "batch", status: "validating" };
}

function complete(batch: Batch): object {
  const total = files.get(batch.input_file_id)?.length ?? 0;
  const request_counts = { total, completed: total, failed: 0 };
  return {
    ...batch,
    object: "batch",
    status: "completed",
    request_counts,
    output_file_id: `out-${batch.input_file_id}`,
  };
}

async function results(fileId: string, response: ServerResponse): Promise<void> {
  const ids = files.get(fileId.slice("out-".length)) ?? [];
  response.writeHead(200, { "content-type": "application/octet-stream" });
  for (let end = ids.length; end > 0; end -= LINES_A_WRITE) {
    const some = ids.slice(Math.max(0, end - LINES_A_WRITE), end).reverse();
    const lines = some.map((id) => `${LINE}${id}","response":{"status_code":200,"body":${answer}},"error":null}\n`);
    if (!response.write(lines.join(""))) await new Promise((resolve) => response.once("drain", resolve));
  }
  response.end();
}

async function answerTo(request: IncomingMessage, response: ServerResponse): Promise<object | null> {
  const [kind, id, part] = (request.url ?? "").split(/[?#]/, 1).join("").split("/").slice(2);
  const isPost = request.method === "POST";
  if (kind === "files" && isPost) return upload(request);
  if (kind === "batches" && isPost) return create(request);
  request.resume();
  if (kind === "files" && part === "content" && id !== undefined) {
    await results(id, response);
    return null;
  }
  const batch = batches.get(id ?? "");
  if (kind === "batches" && batch !== undefined) return complete(batch);
  const data = kind === "batches" ? [...batches.values()].map(complete).reverse().slice(0, 100) : [];
  return { object: "list", data, has_more: false };
}

const server = createServer((request, response) => {
  answerTo(request, response).then(
    (body) => {
      if (body !== null) response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    },
    () => response.destroy(),
  );
});
// A dispatcher that is busy with a commit must not meet a connection that has just been closed.
server.keepAliveTimeout = 600_000;
server.listen(0, "127.0.0.1", () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
process.stdin.resume().once("end", () => process.exit());
