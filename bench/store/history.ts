/**
 * Fills a store's file with done requests, by SQL instead of by millions of calls: the rows that
 * enqueue, seal and settle write (request, texts, outcome, batches of 50,000, counters), with
 * bodies and payloads of 20 bytes, so that ten million fit on a small disk. The trees that a seal
 * searches are as deep as with full bodies, which are in tables of their own.
 */
import { DatabaseSync } from "node:sqlite";
import { BATCH, LANE, NOW } from "./work.ts";

const STEP = 1_000_000;

export function addDone(file: string, count: number): void {
  const database = new DatabaseSync(file);
  database.exec("PRAGMA synchronous = OFF; PRAGMA cache_size = -200000");
  database.prepare("INSERT OR IGNORE INTO batchwise_lane (name) VALUES (?)").run(LANE);
  for (let from = 1; from <= count; from += STEP) addRange(database, from, Math.min(count, from + STEP - 1));
  const counter = database.prepare("UPDATE batchwise_counter SET value = value + ? WHERE name = ?");
  for (const name of ["cursor", "succeeded"]) counter.run(count, name);
  counter.run(Math.ceil(count / BATCH), "done");
  // As in a store that has run for long.
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
}

function addRange(database: DatabaseSync, from: number, to: number): void {
  const rows = `WITH RECURSIVE n (seq) AS (SELECT ${from} UNION ALL SELECT seq + 1 FROM n WHERE seq < ${to})`;
  const lane = `(SELECT id FROM batchwise_lane WHERE name = '${LANE}')`;
  database.exec(`
    BEGIN IMMEDIATE;
    ${rows} INSERT INTO batchwise_request (seq, id, lane, priority, rank, tenant, created_at, bytes, tokens)
      SELECT seq, printf('done-%010d', seq), ${lane}, 0, seq, '', ${NOW}, 100, 10
      FROM n;
    ${rows} INSERT INTO batchwise_body (seq, digest, metadata, body)
      SELECT seq, printf('%043d', seq), NULL, '{"input":"12345678"}' FROM n;
    ${rows} INSERT INTO batchwise_outcome (cursor, seq, status, attempts, recorded_at, payload, batch)
      SELECT seq, seq, 'succeeded', 1, ${NOW}, '{"response":"12345"}', (seq - 1) / ${BATCH} + 1 FROM n;
    ${rows} INSERT INTO batchwise_batch
      (key, lane, account, ledger, state, requests, remaining, bytes, tokens, created_at, updated_at, next_at,
       lease_until, fence, release_at)
      SELECT printf('done-%020d', seq), '${LANE}', 'openai', 'openai', 'done', ${BATCH}, 0, 1, 1, ${NOW}, ${NOW}, ${NOW},
        0, 9, ${NOW - 1}
      FROM n WHERE seq % ${BATCH} = 1;
    COMMIT;`);
}
