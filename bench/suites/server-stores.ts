/**
 * The dispatcher on real servers of Postgres and Redis, compared with the plain servers in the same
 * run. Figures without targets; the fleet's measure itself checks that nothing is done twice. If a
 * server is not installed and cannot be, the report names it and says what to install.
 */
import type { Progress } from "../harness/rounds.ts";
import { figure, ratio, type Scale, type Section, type Table } from "../report/section.ts";
import { Rounds } from "../store/rounds.ts";
import { postgresVersion, redisVersion } from "../store/servers.ts";
import { sizeTable } from "./size-table.ts";

interface Row {
  readonly text: string;
  readonly name: string;
  readonly base?: string;
}

interface Server {
  readonly kind: "postgres" | "redis";
  readonly title: string;
  readonly version: () => Promise<string>;
  readonly rows: readonly Row[];
}

/** The quick run does this share of everything. */
const QUICK_SHARE = 10;

/** Number of requests of each measure. */
const counts: Readonly<Record<string, number>> = {
  ...{ ingest: 100_000, ingestRaw: 100_000, dispatchManyUnnamed: 100_000, ingestRawOrdered: 100_000 },
  ...{ dispatchSingle: 20_000, singleRaw: 20_000, batch: 50_000, settleRaw: 50_000, fleet: 20_000 },
  ...{ size: 50_000, passing: 200_000 },
};

const SINGLE = "the dispatcher: in by `enqueue`, 256 callers";
const MANY = "the dispatcher: in by `enqueueMany` of 1,000, under its own ids";

const ALL_THE_WAY: Row = { text: "all the way through one dispatcher, 50,000 a batch", name: "passing" };

const servers: readonly Server[] = [
  {
    ...{ kind: "postgres", title: "Postgres", version: postgresVersion },
    rows: [
      { text: "the store: in by calls of 1,000", name: "ingest", base: "ingestRaw" },
      { text: MANY, name: "dispatchManyUnnamed", base: "ingestRawOrdered" },
      { text: SINGLE, name: "dispatchSingle", base: "singleRaw" },
      { text: "settle by chunks of 1,000", name: "batch", base: "settleRaw" },
      { text: "a fleet, end to end: 4 dispatchers, 8 producers", name: "fleet" },
      ALL_THE_WAY,
    ],
  },
  {
    ...{ kind: "redis", title: "Redis", version: redisVersion },
    rows: [
      { text: "the store: in by calls of 1,000", name: "ingest", base: "ingestRaw" },
      { text: MANY, name: "dispatchManyUnnamed", base: "ingestRaw" },
      { text: SINGLE, name: "dispatchSingle", base: "singleRaw" },
      { text: "settle by chunks of 1,000", name: "batch", base: "settleRaw" },
      ALL_THE_WAY,
    ],
  },
];

export async function serverStores({ rounds, quick }: Scale, progress: Progress): Promise<Section> {
  const share = quick ? QUICK_SHARE : 1;
  const versions: string[] = [];
  const missing: string[] = [];
  const tables: Table[] = [];
  for (const server of servers) {
    const found = await versionOf(server);
    if ("trouble" in found) {
      progress(`${server.title}: ${found.trouble}`);
      missing.push("", `**${server.title} is not measured.** ${found.trouble}`);
      continue;
    }
    versions.push(`${server.title} ${found.version}`);
    const seen = await measureAll(server, rounds, share, progress);
    tables.push(tableOf(server, seen, share), sizeTable(server.title, seen));
  }
  const about = versions.length === 0 ? [] : [`Measured here: ${versions.join(", ")}.`, "", ...aboutBoth];
  return { title: "Servers: Postgres and Redis", about: [...about, ...missing], tables, claims: [] };
}

const aboutBoth: readonly string[] = [
  "Requests of 2 KB of drawn words, results of 500 bytes; one server for each measure, with the settings that it comes with, on data of",
  "its own, on this machine, beside the process that it serves. A commit is on the disk when its callers are answered:",
  "on Postgres with `fsync` and `synchronous_commit` on, on Redis with an append-only file and `appendfsync always`.",
  "Plain Postgres is one table by the same client: 1,000 rows a commit by one `INSERT` from `unnest`, ids as in the row",
  "beside it, and for single requests one `INSERT` a commit by as many callers, over a pool of 10. Plain Redis is one hash",
  "by the same client: 1,000 `HSET` in one pipeline and one `MULTI`, and for single requests one `HSET` by as many",
  "callers.",
  "",
  "The fleet is twelve processes on one database and one provider, the strict one of `batchwise/dispatch/testing`, which",
  "takes 0.3 s for a batch, with batches of 500: from the first request taken in to the last outcome. Each run checks that",
  "no request was in two batches, that the provider ran each once, and that each has one outcome.",
];

/** A reason why a server cannot start becomes a line of the report, and the run continues. */
async function versionOf({ version }: Server): Promise<{ readonly version: string } | { readonly trouble: string }> {
  try {
    return { version: await version() };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return {
      trouble: text
        .split("\n", 1)
        .join("")
        .replace(/^Error: /, ""),
    };
  }
}

async function measureAll({ kind, rows }: Server, rounds: number, share: number, progress: Progress): Promise<Rounds> {
  const seen = new Rounds(progress, kind);
  const names = new Set(["size", ...rows.flatMap(({ name, base }) => (base === undefined ? [name] : [name, base]))]);
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) await seen.add(name, (counts[name] ?? Number.NaN) / share);
  }
  return seen;
}

function tableOf({ title, rows }: Server, seen: Rounds, share: number): Table {
  const sealed = (counts.batch ?? Number.NaN) / share;
  return {
    head: [`work, on ${title}`, "batchwise", `plain ${title}`, "ratio"],
    rows: [
      ...rows.map(({ text, name, base }) => [
        text,
        `${figure(seen.of(name, "perSecond"))}/s`,
        base === undefined ? "" : `${figure(seen.of(base, "perSecond"))}/s`,
        base === undefined ? "" : ratio(seen.ratio(name, base)),
      ]),
      [`read ${figure(sealed)} for an upload`, `${figure(seen.of("size", "uploadPerSecond"))}/s`, "", ""],
      [`seal ${figure(sealed)}`, `${figure(seen.of("batch", "sealMs"))} ms`, "", ""],
    ],
  };
}
