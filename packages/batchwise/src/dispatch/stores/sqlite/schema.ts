// The steps from each version to the next; migrate.ts takes them. Claims move small rows between
// the tables of `ready` and `member` and touch neither the request's row nor its texts, so a seal
// costs the same however many requests have ended.

import { tablesIn } from "../sql/tables.ts";

const tables = tablesIn({
  INT: "INTEGER",
  NUM: "INTEGER",
  FLAG: "INTEGER",
  FALSE: "0",
  TRUE: "1",
  NAME: "TEXT",
  NUMBERED: "INTEGER PRIMARY KEY",
  GIVEN: "INTEGER PRIMARY KEY",
  KEYED: "WITHOUT ROWID",
});

/** One migration per version, applied in order. A released one never changes. */
export const STEPS: readonly string[] = [
  `${tables.lanes} ${tables.requests}
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

  ${tables.outcomes} ${tables.batches}
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

  ${tables.due}
  CREATE INDEX batchwise_delivery_now ON batchwise_delivery (sink, cursor) WHERE state = 'waiting' AND is_due = 1;
  CREATE INDEX batchwise_delivery_later ON batchwise_delivery (sink, next_at) WHERE state = 'waiting' AND is_due = 0;
  `,
  `
  -- The attempts of the few requests that have any, so that an ending need not read the request's
  -- row.
  CREATE INDEX batchwise_request_tried ON batchwise_request (seq, attempts) WHERE attempts > 0;
  `,
  tables.dead,
  tables.effective,
  tables.deadlines,
  tables.pruning,
  `${tables.jobs}
  -- An ending finds tenant and job here, without reading the request's row.
  CREATE INDEX batchwise_request_owner ON batchwise_request (seq, tenant, job) WHERE tenant <> '' OR job <> '';
  -- SQLite reads no JSON that is nested more than 1,000 deep.
  UPDATE batchwise_outcome SET code = substr(json_extract(payload, '$.error.code'), 1, 256)
  WHERE status <> 'succeeded' AND json_valid(payload);
  ${tables.codes}
  `,
  `
  -- Lanes in which nothing was ever enqueued are of groups: their numbers are below zero.
  UPDATE batchwise_lane SET id = -id
  WHERE id NOT IN (SELECT lane FROM batchwise_level) AND id NOT IN (SELECT lane FROM batchwise_share);
  ${tables.groups}
  `,
  `${tables.statuses}
  CREATE UNIQUE INDEX batchwise_ready_seq ON batchwise_ready (seq);
  `,
  tables.tombstones,
  `${tables.columns}
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
  ${tables.refusals}
  UPDATE batchwise_ledger SET outage = note, note = json_extract(note, '$.code') WHERE note LIKE '{%' AND json_valid(note);
  `,
  tables.turns,
  tables.payers,
];
