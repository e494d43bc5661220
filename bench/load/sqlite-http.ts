/**
 * Inserts into SQLite behind node:http: 64 clients in another process, each with one open
 * connection, and a synchronous handler. Node reads one socket after the other, so simultaneous
 * requests arrive in many turns.
 *
 * Guarantees that every answered row was written once; a missing or duplicate row fails the run.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import type { Measurement } from "../harness/child.ts";
import type { NamedWorkload } from "../harness/workloads.ts";
import { findRowWriter, type Insert, type RowWriter } from "../peers/row-writers.ts";
import { inFolder } from "../store/folder.ts";
import { MEASURING, type Row } from "./rows.ts";

type Config = { clients: number; warmUpMs: number; durationMs: number };

const clientsFile = fileURLToPath(new URL("http-clients.ts", import.meta.url));

interface Counts {
  readonly batches: number;
  readonly rows: number;
}

interface Table {
  readonly insert: Insert;
  /** Calls of `insert`, and rows so far. */
  counts(): Counts;
  /** Throws unless the table has this many rows, all different. */
  check(rows: number): void;
  close(): void;
}

function openTable(file: string): Table {
  const database = new DatabaseSync(file);
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE row (id INTEGER PRIMARY KEY, value INTEGER NOT NULL, text TEXT NOT NULL)`);
  const statement = database.prepare("INSERT INTO row (value, text) VALUES (?, ?)");
  let batches = 0;
  let rows = 0;
  return {
    insert(batch) {
      batches += 1;
      rows += batch.length;
      database.exec("BEGIN IMMEDIATE");
      const saved = batch.map(({ value, text }) => ({ id: Number(statement.run(value, text).lastInsertRowid), value }));
      database.exec("COMMIT");
      return saved;
    },
    counts: () => ({ batches, rows }),
    check(expected) {
      const { found, different } = database
        .prepare("SELECT count(*) AS found, count(DISTINCT value) AS different FROM row")
        .get() as Record<string, number>;
      if (found !== expected || different !== expected) {
        throw new Error(`Expected ${expected} rows, got ${found} with ${different} different values`);
      }
    },
    close: () => database.close(),
  };
}

function serve(write: RowWriter): Server {
  return createServer((request: IncomingMessage, response: ServerResponse) => {
    let text = "";
    request.setEncoding("utf8");
    request.on("data", (chunk: string) => {
      text += chunk;
    });
    request.on("end", () => {
      write(JSON.parse(text) as Row).then(
        (saved) => answer(response, 200, JSON.stringify(saved)),
        (error: unknown) => answer(response, 500, String(error)),
      );
    });
  });
}

function answer(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { "content-length": Buffer.byteLength(body) }).end(body);
}

/** Runs the clients to their end; calls `onMeasuring` at the end of their warm-up. */
async function runClients(port: number, config: Config, onMeasuring: () => void): Promise<Measurement> {
  const { clients, warmUpMs, durationMs } = config;
  const args = [clientsFile, port, clients, warmUpMs, durationMs].map(String);
  const child = spawn(process.execPath, ["--no-warnings", ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "close");
  let last = "";
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === MEASURING) onMeasuring();
    last = line;
  }
  const [code] = await ended;
  if (code !== 0) throw new Error(`The clients ended with ${code}`);
  return JSON.parse(last) as Measurement;
}

async function measureIn(file: string, contender: string, config: Config): Promise<Measurement> {
  const table = openTable(file);
  const server = serve(findRowWriter(contender)(table.insert));
  await once(server.listen(0, "127.0.0.1"), "listening");
  let warmUp: Counts = { batches: 0, rows: 0 };
  const { port } = server.address() as AddressInfo;
  const { sent = Number.NaN, ...figures } = await runClients(port, config, () => {
    warmUp = table.counts();
  });
  server.close();
  const { batches, rows } = table.counts();
  table.check(sent);
  table.close();
  return { ...figures, meanBatch: (rows - warmUp.rows) / (batches - warmUp.batches) };
}

export const sqliteHttp: NamedWorkload<Config> = {
  defaults: { clients: 64, warmUpMs: 500, durationMs: 1_500 },
  measure: (contender, config) => inFolder((file) => measureIn(file, contender, config)),
};
