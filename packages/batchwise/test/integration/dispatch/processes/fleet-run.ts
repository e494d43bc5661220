// A fleet on one store and one provider: dispatchers and producers, each a process of its own
// (fleet-child.ts), and what they have left behind in the store and at the provider.

import { spawn } from "node:child_process";
import { once } from "node:events";
import type { FakeProvider } from "../../../../src/dispatch-testing/index.ts";
import { openStore, type Place } from "../stores/open-store.ts";
import type { FleetWork } from "./fleet-child.ts";

const DISPATCHERS = 4;
const PRODUCERS = 8;
const ALL = 1_000_000;

export interface Fleet {
  /** The bundle of fleet-child.ts. */
  readonly program: string;
  readonly place: Place;
  /** Of the provider. */
  readonly url: string;
  /** Of all producers together. */
  readonly requests: number;
  /** Length of each message in it. */
  readonly textLength: number;
}

/**
 * All processes at once, when the last of them is ready; resolves when every request has its
 * outcome. Ends them all where one fails, or at the signal.
 */
export async function runFleet({ program, requests, ...rest }: Fleet, signal: AbortSignal): Promise<void> {
  const failed = new AbortController();
  const eitherSignal = AbortSignal.any([signal, failed.signal]);
  const names = (count: number, role: string) => Array.from({ length: count }, (_, n) => `${role}${n}`);
  const works: FleetWork[] = [
    ...names(DISPATCHERS, "d").map((name) => ({ ...rest, role: "dispatcher" as const, name, requests })),
    ...names(PRODUCERS, "p").map((name) => ({
      ...{ ...rest, role: "producer" as const, name, requests: requests / PRODUCERS },
    })),
  ];
  const members = works.map((work) => start(program, work, eitherSignal));
  const ended = members.map((member) => member.ended);
  const begin = async (): Promise<void> => {
    await Promise.all(members.map((member) => member.ready));
    for (const member of members) member.begin();
  };
  try {
    await Promise.all([begin(), ...ended]);
  } catch (error) {
    failed.abort();
    await Promise.allSettled(ended);
    throw error;
  }
}

interface Member {
  readonly ready: Promise<unknown>;
  begin(): void;
  /** Rejects where it ends badly, also before it is ready. */
  readonly ended: Promise<void>;
}

function start(program: string, work: FleetWork, signal: AbortSignal): Member {
  const child = spawn(process.execPath, ["--no-warnings", program, JSON.stringify(work)], {
    ...{ signal, killSignal: "SIGKILL", stdio: ["pipe", "pipe", "inherit"] },
  });
  // A process that no message reaches has ended, and has reported that itself.
  child.stdin.on("error", () => {});
  return {
    ready: once(child.stdout, "data"),
    begin: () => void child.stdin.write("begin\n"),
    ended: once(child, "close").then(([code]) => {
      if (code !== 0) throw new Error(`${work.role} ${work.name} ended with ${code}`);
    }),
  };
}

export interface Traces {
  readonly outcomes: number;
  /** Requests that have one. */
  readonly ended: number;
  readonly statuses: readonly string[];
  /** Places in batches, of all batches together. */
  readonly members: number;
  /** Requests that the provider has run, and how often the one that it ran most often. */
  readonly ran: number;
  readonly mostRuns: number;
}

/** What is left where every request was in one batch, ran once and has one outcome. */
export function tracesOfOnceEach(requests: number): Traces {
  return {
    ...{ outcomes: requests, ended: requests, statuses: ["succeeded"] },
    ...{ members: requests, ran: requests, mostRuns: 1 },
  };
}

export interface FleetEnd {
  readonly traces: Traces;
  /**
   * From the first request that was taken in to the last outcome: the start of the processes is not
   * in it.
   */
  readonly spanMs: number;
}

export async function readFleetEnd(place: Place, fake: FakeProvider): Promise<FleetEnd> {
  const { store, end } = await openStore(place);
  const outcomes = await store.outcomes({ after: 0, limit: ALL });
  const batches = await store.batches({ limit: ALL });
  const firsts = await store.requests({ ids: Array.from({ length: PRODUCERS }, (_, n) => `p${n}-0`) });
  await store.close();
  await end();
  const runs = [...fake.runs().values()];
  return {
    traces: {
      outcomes: outcomes.length,
      ended: new Set(outcomes.map(({ id }) => id)).size,
      statuses: [...new Set(outcomes.map(({ status }) => status))],
      members: batches.reduce((sum, batch) => sum + batch.requests, 0),
      ran: runs.length,
      mostRuns: runs.reduce((most, count) => Math.max(most, count), 0),
    },
    spanMs: (outcomes.at(-1)?.recordedAt ?? Number.NaN) - Math.min(...firsts.map(({ createdAt }) => createdAt)),
  };
}
