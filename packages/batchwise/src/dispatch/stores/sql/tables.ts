// The tables that both SQL stores have, by the step that makes or changes them. Each store lists
// its own steps in its schema.ts, with these among them. A request's state is the table that has
// it: `ready` while it waits, `member` while a batch has it, `outcome` once it has ended. A
// released text never changes.
//
// Types are written in words that each database replaces: see `Words`.

/** A database's own writing of the words in the texts. */
export interface Words {
  /** A whole number. */
  readonly INT: string;
  /** A time, or another number that may have a fraction. */
  readonly NUM: string;
  /** A truth value, and its values. */
  readonly FLAG: string;
  readonly FALSE: string;
  readonly TRUE: string;
  /** A text that is sorted by its bytes. */
  readonly NAME: string;
  /** The primary key of rows that the database numbers; GIVEN may also be inserted. */
  readonly NUMBERED: string;
  readonly GIVEN: string;
  /** After a table: its rows lie in the order of its primary key. */
  readonly KEYED: string;
}

const TABLES = {
  lanes: `
  CREATE TABLE batchwise_lane (id NUMBERED, name TEXT NOT NULL UNIQUE);

  -- V and F of the claim order: see the head of store.ts.
  CREATE TABLE batchwise_level (
    lane INT NOT NULL, priority INT NOT NULL, claimed INT NOT NULL, PRIMARY KEY (lane, priority)
  ) KEYED;
  CREATE TABLE batchwise_share (
    lane INT NOT NULL, priority INT NOT NULL, tenant TEXT NOT NULL, finished INT NOT NULL,
    PRIMARY KEY (lane, priority, tenant)
  ) KEYED;
  `,
  requests: `
  -- seq is the order of arrival.
  CREATE TABLE batchwise_request (
    seq NUMBERED, id TEXT NOT NULL UNIQUE, lane INT NOT NULL, priority INT NOT NULL, rank INT NOT NULL,
    tenant TEXT NOT NULL, created_at NUM NOT NULL, not_before NUM NOT NULL DEFAULT 0, deadline_at NUM,
    bytes INT NOT NULL, tokens INT NOT NULL, attempts INT NOT NULL DEFAULT 0, generation INT NOT NULL DEFAULT 0
  );
  CREATE TABLE batchwise_body (seq INT PRIMARY KEY, digest TEXT NOT NULL, metadata TEXT, body TEXT NOT NULL);
  CREATE TABLE batchwise_history (
    seq INT NOT NULL, batch INT NOT NULL, code TEXT NOT NULL, at NUM NOT NULL, PRIMARY KEY (seq, batch)
  ) KEYED;
  `,
  outcomes: `
  CREATE TABLE batchwise_outcome (
    cursor INT PRIMARY KEY, seq INT NOT NULL UNIQUE, status TEXT NOT NULL, attempts INT NOT NULL,
    recorded_at NUM NOT NULL, payload TEXT NOT NULL
  );

  CREATE TABLE batchwise_delivery (
    cursor INT NOT NULL, sink TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'waiting',
    attempt INT NOT NULL DEFAULT 0, next_at NUM NOT NULL, PRIMARY KEY (cursor, sink)
  ) KEYED;
  CREATE INDEX batchwise_delivery_waiting ON batchwise_delivery (cursor, sink, next_at) WHERE state = 'waiting';
  CREATE INDEX batchwise_delivery_due ON batchwise_delivery (next_at) WHERE state = 'waiting';
  CREATE TABLE batchwise_delivery_log (
    cursor INT NOT NULL, sink TEXT NOT NULL, attempt INT NOT NULL, at NUM NOT NULL, status_code INT, error TEXT,
    PRIMARY KEY (cursor, sink, attempt)
  ) KEYED;
  `,
  batches: `
  -- release_at: when the reservation stops counting; the largest safe number if unknown.
  CREATE TABLE batchwise_batch (
    id GIVEN, key NAME NOT NULL UNIQUE, lane TEXT NOT NULL, account TEXT NOT NULL, ledger TEXT NOT NULL,
    state TEXT NOT NULL, requests INT NOT NULL, bytes INT NOT NULL, tokens INT NOT NULL, remaining INT NOT NULL,
    cancel_requested INT NOT NULL DEFAULT 0, created_at NUM NOT NULL, updated_at NUM NOT NULL,
    submit_attempt INT NOT NULL DEFAULT 0, submit_started_at NUM, unknown_since NUM,
    whole_failures INT NOT NULL DEFAULT 0, provider_file_id TEXT, provider_batch_id TEXT,
    verified FLAG NOT NULL DEFAULT TRUE, provider_state TEXT, cancel_sent_at NUM, disposal TEXT, last_error TEXT,
    poll_ms NUM NOT NULL DEFAULT 0, expires_at NUM, next_at NUM NOT NULL, lease_owner TEXT, lease_until NUM NOT NULL,
    fence INT NOT NULL, release_at NUM NOT NULL
  );
  CREATE INDEX batchwise_batch_open ON batchwise_batch (state, remaining) WHERE state <> 'done';
  CREATE INDEX batchwise_batch_newest ON batchwise_batch (created_at, key);
  CREATE INDEX batchwise_batch_ledger ON batchwise_batch (ledger, release_at, tokens, requests);
  CREATE INDEX batchwise_batch_provider ON batchwise_batch (provider_batch_id, account)
    WHERE provider_batch_id IS NOT NULL;
  CREATE TABLE batchwise_orphan (
    batch INT NOT NULL, provider_batch_id NAME NOT NULL, seen_at NUM NOT NULL, action TEXT NOT NULL,
    PRIMARY KEY (batch, provider_batch_id)
  ) KEYED;
  CREATE INDEX batchwise_orphan_provider ON batchwise_orphan (provider_batch_id);
  CREATE TABLE batchwise_ledger (
    name NAME PRIMARY KEY, learned_tokens NUM, learned_at NUM, blocked_until NUM NOT NULL DEFAULT 0,
    strikes INT NOT NULL DEFAULT 0, note TEXT
  ) KEYED;

  CREATE TABLE batchwise_counter (name TEXT PRIMARY KEY, value INT NOT NULL) KEYED;
  `,
  due: `
  -- is_due: a take has marked the delivery as due. A take never scans deliveries that still wait.
  ALTER TABLE batchwise_delivery ADD COLUMN is_due FLAG NOT NULL DEFAULT FALSE;
  DROP INDEX batchwise_delivery_waiting;
  `,
  dead: `
  -- The dead letters.
  CREATE INDEX batchwise_delivery_dead ON batchwise_delivery (sink, cursor) WHERE state = 'dead';
  `,
  effective: `
  -- Each seal deletes shares that have no effect; levels of lanes without requests are not kept.
  CREATE INDEX batchwise_share_finished ON batchwise_share (lane, priority, finished);
  DELETE FROM batchwise_level WHERE NOT EXISTS (
    SELECT 1 FROM batchwise_share s WHERE s.lane = batchwise_level.lane AND s.priority = batchwise_level.priority
  );
  DELETE FROM batchwise_share WHERE finished <= (
    SELECT claimed FROM batchwise_level l WHERE l.lane = batchwise_share.lane AND l.priority = batchwise_share.priority
  );
  `,
  deadlines: `
  -- The earliest deadline of a batch's members.
  ALTER TABLE batchwise_batch ADD COLUMN deadline_at NUM;
  UPDATE batchwise_batch SET deadline_at = (
    SELECT min(r.deadline_at) FROM batchwise_member m JOIN batchwise_request r ON r.seq = m.seq
    WHERE m.batch = batchwise_batch.id
  ) WHERE state <> 'done';
  `,
  pruning: `
  -- The digest of a pruned request, of which only id and digest are left; NULL for any other.
  ALTER TABLE batchwise_request ADD COLUMN pruned TEXT;
  -- The batch in which it ended; NULL if it was waiting, or ended before this column existed.
  ALTER TABLE batchwise_outcome ADD COLUMN batch INT;
  -- Number of members that no outcome and no history refers to.
  ALTER TABLE batchwise_batch ADD COLUMN gone INT NOT NULL DEFAULT 0;
  UPDATE batchwise_batch SET gone = requests - remaining;
  UPDATE batchwise_batch SET gone = gone - h.members
  FROM (SELECT batch, count(*) AS members FROM batchwise_history GROUP BY batch) h WHERE h.batch = batchwise_batch.id;
  CREATE INDEX batchwise_batch_over ON batchwise_batch (updated_at) WHERE state = 'done' AND gone >= requests;
  `,
  jobs: `
  -- '' for none.
  ALTER TABLE batchwise_request ADD COLUMN job TEXT NOT NULL DEFAULT '';
  CREATE INDEX batchwise_request_job ON batchwise_request (job, seq) WHERE job <> '';
  -- NULL for none.
  ALTER TABLE batchwise_outcome ADD COLUMN job TEXT;
  ALTER TABLE batchwise_outcome ADD COLUMN code TEXT;
  CREATE INDEX batchwise_outcome_job ON batchwise_outcome (job, cursor) WHERE job IS NOT NULL;
  CREATE INDEX batchwise_outcome_batch ON batchwise_outcome (batch, seq) WHERE batch IS NOT NULL;
  CREATE TABLE batchwise_usage (
    tenant TEXT NOT NULL, job TEXT NOT NULL, lane TEXT NOT NULL, requests INT NOT NULL, succeeded INT NOT NULL,
    failed INT NOT NULL, cancelled INT NOT NULL, expired INT NOT NULL, input_tokens INT NOT NULL,
    cached_tokens INT NOT NULL, output_tokens INT NOT NULL, reasoning_tokens INT NOT NULL,
    PRIMARY KEY (tenant, job, lane)
  ) KEYED;
  CREATE INDEX batchwise_usage_job ON batchwise_usage (job);
  CREATE TABLE batchwise_mark (name TEXT PRIMARY KEY, value TEXT NOT NULL) KEYED;
  `,
  codes: `
  CREATE INDEX batchwise_outcome_code ON batchwise_outcome (code, seq) WHERE code IS NOT NULL;
  `,
  groups: `
  UPDATE batchwise_request SET lane = -lane WHERE pruned IS NULL AND -lane IN (SELECT id FROM batchwise_lane);
  UPDATE batchwise_ready SET lane = -lane WHERE -lane IN (SELECT id FROM batchwise_lane);
  CREATE INDEX batchwise_request_group ON batchwise_request (lane) WHERE lane < 0;
  `,
  statuses: `
  CREATE INDEX batchwise_outcome_status ON batchwise_outcome (status, seq);
  `,
  tombstones: `
  -- created_at of a tombstone is the time of its pruning.
  CREATE INDEX batchwise_request_pruned ON batchwise_request (created_at) WHERE pruned IS NOT NULL;
  `,
  columns: `
  -- Values that decide about a batch get their own columns, instead of last_error. file_id holds
  -- only ids: a process of an earlier version, which also writes other texts there, finds no
  -- provider_file_id and sends nothing.
  ALTER TABLE batchwise_batch RENAME COLUMN provider_file_id TO file_id;
  ALTER TABLE batchwise_batch ADD COLUMN tries INT NOT NULL DEFAULT 0;
  ALTER TABLE batchwise_batch ADD COLUMN lost_looks INT NOT NULL DEFAULT 0;
  ALTER TABLE batchwise_batch ADD COLUMN breaks INT NOT NULL DEFAULT 0;
  ALTER TABLE batchwise_batch ADD COLUMN failed_reads INT NOT NULL DEFAULT 0;
  ALTER TABLE batchwise_batch ADD COLUMN unreadable_reads INT NOT NULL DEFAULT 0;
  ALTER TABLE batchwise_batch ADD COLUMN failed_steps INT NOT NULL DEFAULT 0;
  ALTER TABLE batchwise_batch ADD COLUMN tries_since NUM;
  ALTER TABLE batchwise_batch ADD COLUMN first_refused_at NUM;
  ALTER TABLE batchwise_batch ADD COLUMN last_refused_at NUM;
  ALTER TABLE batchwise_batch ADD COLUMN split_at NUM;
  ALTER TABLE batchwise_batch ADD COLUMN file_pending_since NUM;
  ALTER TABLE batchwise_batch ADD COLUMN lost_since NUM;
  ALTER TABLE batchwise_batch ADD COLUMN inline FLAG;
  ALTER TABLE batchwise_batch ADD COLUMN short_reads TEXT;
  ALTER TABLE batchwise_ledger ADD COLUMN outage TEXT;
  UPDATE batchwise_batch SET inline = file_id = 'in the create' WHERE file_id IS NOT NULL;
  UPDATE batchwise_batch SET file_id = NULL WHERE file_id IN ('in the create', 'to be uploaded');
  UPDATE batchwise_batch SET split_at = updated_at
  WHERE disposal LIKE '{"kind":"split"%' OR disposal LIKE '{"kind":"canary"%';
  UPDATE batchwise_batch SET
    first_refused_at = (SELECT min(seen_at) FROM batchwise_orphan WHERE batch = id AND action = 'ended'),
    last_refused_at = (SELECT max(seen_at) FROM batchwise_orphan WHERE batch = id AND action = 'ended')
  WHERE state <> 'done' AND whole_failures > 0;
  `,
  refusals: `
  UPDATE batchwise_batch SET last_refused_at = coalesce(last_refused_at, updated_at),
    first_refused_at = coalesce(first_refused_at, last_refused_at, updated_at)
  WHERE state <> 'done' AND whole_failures > 0;
  `,
  turns: `
  -- Sent with the body: what a model answered, and why that was refused.
  ALTER TABLE batchwise_body ADD COLUMN turns TEXT;
  `,
  payers: `
  -- Payers and their spending. most: the limit; the largest safe number for none. Empty without
  -- payers.
  CREATE TABLE batchwise_payer (
    name TEXT PRIMARY KEY, most INT NOT NULL, spent INT NOT NULL DEFAULT 0, reserved INT NOT NULL DEFAULT 0
  ) KEYED;
  ALTER TABLE batchwise_request ADD COLUMN price INT NOT NULL DEFAULT 0;
  ALTER TABLE batchwise_batch ADD COLUMN payers TEXT;
  ALTER TABLE batchwise_batch ADD COLUMN reserved INT NOT NULL DEFAULT 0;
  `,
};

/** The texts in a database's own words. */
export function tablesIn(words: Words): Readonly<Record<keyof typeof TABLES, string>> {
  const word = new RegExp(`\\b(?:${Object.keys(words).join("|")})\\b`, "g");
  const own = Object.entries(TABLES).map(([name, sql]) => [
    name,
    sql.replaceAll(word, (at) => words[at as keyof Words]),
  ]);
  return Object.fromEntries(own) as Record<keyof typeof TABLES, string>;
}
