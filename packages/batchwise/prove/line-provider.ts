// An OpenAI of the smallest kind that holds large batches: it speaks files and batches, reads
// uploads and writes results as streams, and keeps of a file only the ids that its lines carry.
// Every batch is complete at its first poll.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";

interface Batch {
  readonly id: string;
  readonly input_file_id: string;
  readonly metadata: unknown;
  readonly created_at: number;
}

interface Line {
  readonly customId: string;
  /** What stands between two @ in the line. */
  readonly id: string;
}

export interface LineProvider {
  readonly url: string;
  /** How often the request of each id was run. */
  readonly runs: ReadonlyMap<string, number>;
  /** Uploads whose connection ended before they did. */
  cutUploads(): number;
  close(): Promise<void>;
}

const LINE = /^\{"custom_id":"([^"]+)".*@([^@]+)@/;
const ANSWER =
  '{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"yes"}}]}';
const LINES_A_WRITE = 200;

class Books {
  readonly files: Map<string, readonly Line[]> = new Map();
  readonly batches: Map<string, Batch> = new Map();
  readonly runs: Map<string, number> = new Map();
  cut = 0;

  async upload(request: IncomingMessage): Promise<object> {
    const lines: Line[] = [];
    try {
      for await (const text of createInterface({ input: request, crlfDelay: Number.POSITIVE_INFINITY })) {
        const [, customId, id] = LINE.exec(text) ?? [];
        if (customId !== undefined && id !== undefined) lines.push({ customId, id });
      }
    } finally {
      if (!request.complete) this.cut += 1;
    }
    const id = `file-${this.files.size + 1}`;
    if (request.complete) this.files.set(id, lines);
    return { id, object: "file", filename: "input.jsonl", purpose: "batch", status: "processed" };
  }

  async create(request: IncomingMessage): Promise<object> {
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += String(chunk);
    const { input_file_id, metadata } = JSON.parse(text) as Batch;
    const id = `batch-${this.batches.size + 1}`;
    const batch = { id, input_file_id, metadata, created_at: Math.floor(Date.now() / 1_000) };
    this.batches.set(id, batch);
    for (const line of this.files.get(input_file_id) ?? []) this.runs.set(line.id, (this.runs.get(line.id) ?? 0) + 1);
    return { ...batch, object: "batch", status: "validating" };
  }

  complete(batch: Batch): object {
    const total = this.files.get(batch.input_file_id)?.length ?? 0;
    const request_counts = { total, completed: total, failed: 0 };
    const output_file_id = `out-${batch.input_file_id}`;
    return { ...batch, object: "batch", status: "completed", request_counts, output_file_id };
  }

  async results(fileId: string, response: ServerResponse): Promise<null> {
    const lines = this.files.get(fileId.slice("out-".length)) ?? [];
    response.writeHead(200, { "content-type": "application/octet-stream" });
    response.setMaxListeners(0);
    for (let from = 0; from < lines.length && !response.destroyed; from += LINES_A_WRITE) {
      const texts = lines.slice(from, from + LINES_A_WRITE).map(({ customId }) => resultLine(customId));
      if (response.write(texts.join(""))) continue;
      await new Promise<void>((resolve) => response.once("drain", resolve).once("close", resolve));
    }
    response.end();
    return null;
  }

  /** null where the response is written already. */
  async answerTo(request: IncomingMessage, response: ServerResponse): Promise<object | null> {
    const [kind, id, part] = (request.url ?? "").split(/[?#]/, 1).join("").split("/").slice(2);
    const isPost = request.method === "POST";
    if (kind === "files" && isPost) return this.upload(request);
    if (kind === "batches" && isPost) return this.create(request);
    request.resume();
    if (kind === "files" && part === "content" && id !== undefined) return this.results(id, response);
    const batch = this.batches.get(id ?? "");
    if (kind === "batches" && batch !== undefined) return this.complete(batch);
    const all = kind === "batches" ? [...this.batches.values()].reverse().slice(0, 100) : [];
    return { object: "list", data: all.map((one) => this.complete(one)), has_more: false };
  }
}

function resultLine(customId: string): string {
  return `{"custom_id":"${customId}","response":{"status_code":200,"body":${ANSWER}},"error":null}\n`;
}

export async function startLineProvider(): Promise<LineProvider> {
  const books = new Books();
  const server = createServer((request, response) => {
    books.answerTo(request, response).then(
      (body) => {
        if (body !== null) response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
      },
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    runs: books.runs,
    cutUploads: () => books.cut,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
