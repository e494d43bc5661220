// The tables, and the steps from each version to the next; migrate.ts takes them. A request's state
// is the table that has it: `ready` while it waits, `member` while a batch has it, `outcome` once
// it has ended. Claims move small rows between the first two and touch neither the request's row
// nor its texts, so a seal costs the same however many requests have ended.

/** One migration per version, applied in order. A released one never changes. */
export const STEPS: readonly string[] = [
  `
  CREATE TABLE batchwise_lane (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

  -- V and F of the claim order: see the head of store.ts.
  CREATE TABLE batchwise_level (
    lane INTEGER NOT NULL, priority INTEGER NOT NULL, claimed INTEGER NOT NULL, PRIMARY KEY (lane, priority)
  ) WITHOUT ROWID;
  CREATE TABLE batchwise_share (
    lane INTEGER NOT NULL, priority INTEGER NOT NULL, tenant TEXT NOT NULL, finished INTEGER NOT NULL,
    PRIMARY KEY (lane, priority, tenant)
  ) WITHOUT ROWID;

  -- seq is the order of arrival.
  CREATE TABLE batchwise_request (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, lane INTEGER NOT NULL, priority INTEGER NOT NULL,
    rank INTEGER NOT NULL, tenant TEXT NOT NULL, created_at INTEGER NOT NULL, not_before INTEGER NOT NULL DEFAULT 0,
    deadline_at INTEGER, bytes INTEGER NOT NULL, tokens INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
    generation INTEGER NOT NULL DEFAULT 0
  );
  CREATE TABLE batchwise_body (
    seq INTEGER PRIMARY KEY, digest TEXT NOT NULL, metadata TEXT, body TEXT NOT NULL
  );
  CREATE TABLE batchwise_history (
    seq INTEGER NOT NULL, batch INTEGER NOT NULL, code TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (seq, batch)
  ) WITHOUT ROWID;

  CREATE TABLE batchwise_ready (
    lane INTEGER NOT NULL, priority INTEGER NOT NULL, rank INTEGER NOT NULL, seq INTEGER NOT NULL,
    bytes INTEGER NOT NULL, tokens INTEGER NOT NULL, not_before INTEGER NOT NULL, deadline_at INTEGER,
    created_at INTEGER NOT NULL, PRIMARY KEY (lane, priority DESC, rank, seq)
  ) WITHOUT ROWID;
  CREATE INDEX batchwise_ready_deadline ON batchwise_ready (lane, deadline_at) WHERE deadline_at IS NOT NULL;
  CREATE INDEX batchwise_ready_deferred ON batchwise_ready (lane, not_before) WHERE not_before > 0;

  CREATE TABLE batchwise_member (
    batch INTEGER NOT NULL, ord INTEGER NOT NULL, seq INTEGER NOT NULL, cancel_requested INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (batch, ord)
  ) WITHOUT ROWID;
  CREATE UNIQUE INDEX batchwise_member_seq ON batchwise_member (seq);

  CREATE TABLE batchwise_outcome (
    cursor INTEGER PRIMARY KEY, seq INTEGER NOT NULL UNIQUE, status TEXT NOT NULL, attempts INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL, payload TEXT NOT NULL
  );

  CREATE TABLE batchwise_delivery (
    cursor INTEGER NOT NULL, sink TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'waiting',
    attempt INTEGER NOT NULL DEFAULT 0, next_at INTEGER NOT NULL, PRIMARY KEY (cursor, sink)
  ) WITHOUT ROWID;
  CREATE INDEX batchwise_delivery_waiting ON batchwise_delivery (cursor, sink, next_at) WHERE state = 'waiting';
  CREATE INDEX batchwise_delivery_due ON batchwise_delivery (next_at) WHERE state = 'waiting';
  CREATE TABLE batchwise_delivery_log (
    cursor INTEGER NOT NULL, sink TEXT NOT NULL, attempt INTEGER NOT NULL, at INTEGER NOT NULL, status_code INTEGER,
    error TEXT, PRIMARY KEY (cursor, sink, attempt)
  ) WITHOUT ROWID;

  -- release_at: when the reservation stops counting; the largest safe number if unknown.
  CREATE TABLE batchwise_batch (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, lane TEXT NOT NULL, account TEXT NOT NULL, ledger TEXT NOT NULL,
    state TEXT NOT NULL, requests INTEGER NOT NULL, bytes INTEGER NOT NULL, tokens INTEGER NOT NULL,
    remaining INTEGER NOT NULL, cancel_requested INTEGER NOT NULL DEFAULT 0, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, submit_attempt INTEGER NOT NULL DEFAULT 0, submit_started_at INTEGER,
    unknown_since INTEGER, whole_failures INTEGER NOT NULL DEFAULT 0, provider_file_id TEXT, provider_batch_id TEXT,
    verified INTEGER NOT NULL DEFAULT 1, provider_state TEXT, cancel_sent_at INTEGER, disposal TEXT, last_error TEXT,
    poll_ms INTEGER NOT NULL DEFAULT 0, expires_at INTEGER, next_at INTEGER NOT NULL, lease_owner TEXT,
    lease_until INTEGER NOT NULL, fence INTEGER NOT NULL, release_at INTEGER NOT NULL
  );
  CREATE INDEX batchwise_batch_open ON batchwise_batch (state, remaining) WHERE state <> 'done';
  CREATE INDEX batchwise_batch_newest ON batchwise_batch (created_at, key);
  CREATE INDEX batchwise_batch_ledger ON batchwise_batch (ledger, release_at, tokens, requests);
  CREATE INDEX batchwise_batch_provider ON batchwise_batch (provider_batch_id, account)
    WHERE provider_batch_id IS NOT NULL;
  CREATE TABLE batchwise_orphan (
    batch INTEGER NOT NULL, provider_batch_id TEXT NOT NULL, seen_at INTEGER NOT NULL, action TEXT NOT NULL,
    PRIMARY KEY (batch, provider_batch_id)
  ) WITHOUT ROWID;
  CREATE INDEX batchwise_orphan_provider ON batchwise_orphan (provider_batch_id);
  CREATE TABLE batchwise_ledger (
    name TEXT PRIMARY KEY, learned_tokens INTEGER, learned_at INTEGER, blocked_until INTEGER NOT NULL DEFAULT 0,
    strikes INTEGER NOT NULL DEFAULT 0, note TEXT
  ) WITHOUT ROWID;

  CREATE TABLE batchwise_counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO batchwise_counter VALUES
    ('cursor', 0), ('done', 0), ('waiting', 0), ('succeeded', 0), ('failed', 0), ('cancelled', 0), ('expired', 0);
  `,
  `
  -- later: waits for its not_before, apart from those that a claim walks through; a seal wakes it.
  CREATE TABLE batchwise_ready_2 (
    lane INTEGER NOT NULL, later INTEGER NOT NULL, priority INTEGER NOT NULL, rank INTEGER NOT NULL,
    seq INTEGER NOT NULL, bytes INTEGER NOT NULL, tokens INTEGER NOT NULL, not_before INTEGER NOT NULL,
    deadline_at INTEGER, created_at INTEGER NOT NULL, PRIMARY KEY (lane, later, priority DESC, rank, seq)
  ) WITHOUT ROWID;
  INSERT INTO batchwise_ready_2
  SELECT lane, not_before > 0, priority, rank, seq, bytes, tokens, not_before, deadline_at, created_at
  FROM batchwise_ready;
  DROP TABLE batchwise_ready;
  ALTER TABLE batchwise_ready_2 RENAME TO batchwise_ready;
  CREATE INDEX batchwise_ready_deadline ON batchwise_ready (lane, deadline_at) WHERE deadline_at IS NOT NULL;
  CREATE INDEX batchwise_ready_later ON batchwise_ready (lane, not_before) WHERE later = 1;

  -- is_due: a take has marked the delivery as due. A take never scans deliveries that still wait.
  ALTER TABLE batchwise_delivery ADD COLUMN is_due INTEGER NOT NULL DEFAULT 0;
  DROP INDEX batchwise_delivery_waiting;
  CREATE INDEX batchwise_delivery_now ON batchwise_delivery (sink, cursor) WHERE state = 'waiting' AND is_due = 1;
  CREATE INDEX batchwise_delivery_later ON batchwise_delivery (sink, next_at) WHERE state = 'waiting' AND is_due = 0;
  `,
  `
  -- The attempts of the few requests that have any, so that an ending need not read the request's
  -- row.
  CREATE INDEX batchwise_request_tried ON batchwise_request (seq, attempts) WHERE attempts > 0;
  `,
  `
  -- The dead letters.
  CREATE INDEX batchwise_delivery_dead ON batchwise_delivery (sink, cursor) WHERE state = 'dead';
  `,
  `
  -- Each seal deletes shares that have no effect; levels of lanes without requests are not kept.
  CREATE INDEX batchwise_share_finished ON batchwise_share (lane, priority, finished);
  DELETE FROM batchwise_level WHERE NOT EXISTS (
    SELECT 1 FROM batchwise_share s WHERE s.lane = batchwise_level.lane AND s.priority = batchwise_level.priority
  );
  DELETE FROM batchwise_share WHERE finished <= (
    SELECT claimed FROM batchwise_level l WHERE l.lane = batchwise_share.lane AND l.priority = batchwise_share.priority
  );
  `,
  `
  -- The earliest deadline of a batch's members.
  ALTER TABLE batchwise_batch ADD COLUMN deadline_at INTEGER;
  UPDATE batchwise_batch SET deadline_at = (
    SELECT min(r.deadline_at) FROM batchwise_member m JOIN batchwise_request r ON r.seq = m.seq
    WHERE m.batch = batchwise_batch.id
  ) WHERE state <> 'done';
  `,
  `
  -- The digest of a pruned request, of which only id and digest are left; NULL for any other.
  ALTER TABLE batchwise_request ADD COLUMN pruned TEXT;
  -- The batch in which it ended; NULL if it was waiting, or ended before this column existed.
  ALTER TABLE batchwise_outcome ADD COLUMN batch INTEGER;
  -- Number of members that no outcome and no history refers to.
  ALTER TABLE batchwise_batch ADD COLUMN gone INTEGER NOT NULL DEFAULT 0;
  UPDATE batchwise_batch SET gone = requests - remaining;
  UPDATE batchwise_batch SET gone = gone - h.members
  FROM (SELECT batch, count(*) AS members FROM batchwise_history GROUP BY batch) h WHERE h.batch = batchwise_batch.id;
  CREATE INDEX batchwise_batch_over ON batchwise_batch (updated_at) WHERE state = 'done' AND gone >= requests;
  `,
  `
  -- '' for none. An ending finds tenant and job in the first index, without reading the request's
  -- row.
  ALTER TABLE batchwise_request ADD COLUMN job TEXT NOT NULL DEFAULT '';
  CREATE INDEX batchwise_request_owner ON batchwise_request (seq, tenant, job) WHERE tenant <> '' OR job <> '';
  CREATE INDEX batchwise_request_job ON batchwise_request (job, seq) WHERE job <> '';
  -- NULL for none.
  ALTER TABLE batchwise_outcome ADD COLUMN job TEXT;
  ALTER TABLE batchwise_outcome ADD COLUMN code TEXT;
  -- SQLite reads no JSON that is nested more than 1,000 deep.
  UPDATE batchwise_outcome SET code = substr(json_extract(payload, '$.error.code'), 1, 256)
  WHERE status <> 'succeeded' AND json_valid(payload);
  CREATE INDEX batchwise_outcome_job ON batchwise_outcome (job, cursor) WHERE job IS NOT NULL;
  CREATE INDEX batchwise_outcome_code ON batchwise_outcome (code, seq) WHERE code IS NOT NULL;
  CREATE INDEX batchwise_outcome_batch ON batchwise_outcome (batch, seq) WHERE batch IS NOT NULL;
  CREATE TABLE batchwise_usage (
    tenant TEXT NOT NULL, job TEXT NOT NULL, lane TEXT NOT NULL, requests INTEGER NOT NULL, succeeded INTEGER NOT NULL,
    failed INTEGER NOT NULL, cancelled INTEGER NOT NULL, expired INTEGER NOT NULL, input_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, reasoning_tokens INTEGER NOT NULL,
    PRIMARY KEY (tenant, job, lane)
  ) WITHOUT ROWID;
  CREATE INDEX batchwise_usage_job ON batchwise_usage (job);
  CREATE TABLE batchwise_mark (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  `,
  `
  -- Lanes in which nothing was ever enqueued are of groups: their numbers are below zero.
  UPDATE batchwise_lane SET id = -id
  WHERE id NOT IN (SELECT lane FROM batchwise_level) AND id NOT IN (SELECT lane FROM batchwise_share);
  UPDATE batchwise_request SET lane = -lane WHERE -lane IN (SELECT id FROM batchwise_lane);
  UPDATE batchwise_ready SET lane = -lane WHERE -lane IN (SELECT id FROM batchwise_lane);
  CREATE INDEX batchwise_request_group ON batchwise_request (lane) WHERE lane < 0;
  `,
  `
  CREATE INDEX batchwise_outcome_status ON batchwise_outcome (status, seq);
  CREATE UNIQUE INDEX batchwise_ready_seq ON batchwise_ready (seq);
  `,
  `
  -- Of a tombstone, created_at is when the request was pruned.
  CREATE INDEX batchwise_request_pruned ON batchwise_request (created_at) WHERE pruned IS NOT NULL;
  `,
  `
  -- Values that decide about a batch get their own columns, instead of last_error. file_id holds
  -- only ids: a process of an earlier version, which also writes other texts there, finds no
  -- provider_file_id and sends nothing.
  ALTER TABLE batchwise_batch RENAME COLUMN provider_file_id TO file_id;
  ALTER TABLE batchwise_batch ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE batchwise_batch ADD COLUMN lost_looks INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE batchwise_batch ADD COLUMN breaks INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE batchwise_batch ADD COLUMN failed_reads INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE batchwise_batch ADD COLUMN unreadable_reads INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE batchwise_batch ADD COLUMN failed_steps INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE batchwise_batch ADD COLUMN tries_since INTEGER;
  ALTER TABLE batchwise_batch ADD COLUMN first_refused_at INTEGER;
  ALTER TABLE batchwise_batch ADD COLUMN last_refused_at INTEGER;
  ALTER TABLE batchwise_batch ADD COLUMN split_at INTEGER;
  ALTER TABLE batchwise_batch ADD COLUMN file_pending_since INTEGER;
  ALTER TABLE batchwise_batch ADD COLUMN lost_since INTEGER;
  ALTER TABLE batchwise_batch ADD COLUMN inline INTEGER;
  ALTER TABLE batchwise_batch ADD COLUMN short_reads TEXT;
  UPDATE batchwise_batch SET inline = file_id = 'in the create' WHERE file_id IS NOT NULL;
  UPDATE batchwise_batch SET file_id = NULL WHERE file_id IN ('in the create', 'to be uploaded');
  UPDATE batchwise_batch SET split_at = updated_at
  WHERE disposal LIKE '{"kind":"split"%' OR disposal LIKE '{"kind":"canary"%';
  UPDATE batchwise_batch SET
    first_refused_at = (SELECT min(seen_at) FROM batchwise_orphan WHERE batch = id AND action = 'ended'),
    last_refused_at = (SELECT max(seen_at) FROM batchwise_orphan WHERE batch = id AND action = 'ended')
  WHERE state <> 'done' AND whole_failures > 0;
  -- Counts in last_error were of what its state was about.
  UPDATE batchwise_batch SET
    (failed_steps, breaks, file_pending_since, failed_reads, short_reads) = (
      coalesce(json_extract(last_error, '$.steps'), 0), coalesce(json_extract(last_error, '$.breaks'), 0),
      json_extract(last_error, '$.pendingSince'), coalesce(json_extract(last_error, '$.failures'), 0),
      json_extract(last_error, '$.reads')
    ),
    unreadable_reads = iif(state = 'collecting', coalesce(json_extract(last_error, '$.tries'), 0), 0),
    lost_looks = iif(json_extract(last_error, '$.code') = 'batch_vanished', json_extract(last_error, '$.tries'), 0),
    lost_since = iif(json_extract(last_error, '$.code') = 'batch_vanished', json_extract(last_error, '$.since'), NULL),
    tries = iif(provider_batch_id IS NULL AND state <> 'collecting', coalesce(json_extract(last_error, '$.tries'), 0), 0),
    tries_since = iif(provider_batch_id IS NULL AND state <> 'collecting', json_extract(last_error, '$.since'), NULL),
    first_refused_at = iif(whole_failures = 0, NULL,
      coalesce(min(first_refused_at, json_extract(last_error, '$.since')), first_refused_at, json_extract(last_error, '$.since'))),
    last_refused_at = iif(whole_failures = 0, NULL,
      coalesce(max(last_refused_at, json_extract(last_error, '$.refusedAt')), json_extract(last_error, '$.refusedAt'),
        last_refused_at))
  WHERE state <> 'done' AND json_valid(last_error);
  UPDATE batchwise_batch SET lost_looks = 0 WHERE lost_looks IS NULL;
  UPDATE batchwise_batch SET last_refused_at = coalesce(last_refused_at, updated_at),
    first_refused_at = coalesce(first_refused_at, last_refused_at, updated_at)
  WHERE state <> 'done' AND whole_failures > 0;
  ALTER TABLE batchwise_ledger ADD COLUMN outage TEXT;
  UPDATE batchwise_ledger SET outage = note, note = json_extract(note, '$.code') WHERE note LIKE '{%' AND json_valid(note);
  `,
  `
  -- Sent with the body: what a model answered, and why that was refused.
  ALTER TABLE batchwise_body ADD COLUMN turns TEXT;
  `,
  `
  -- Payers and their spending. most: the limit; the largest safe number for none. Empty without
  -- payers.
  CREATE TABLE batchwise_payer (
    name TEXT PRIMARY KEY, most INTEGER NOT NULL, spent INTEGER NOT NULL DEFAULT 0, reserved INTEGER NOT NULL DEFAULT 0
  ) WITHOUT ROWID;
  ALTER TABLE batchwise_request ADD COLUMN price INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE batchwise_batch ADD COLUMN payers TEXT;
  ALTER TABLE batchwise_batch ADD COLUMN reserved INTEGER NOT NULL DEFAULT 0;
  `,
];
