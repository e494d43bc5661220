// `batchwise jobs doctor`: checks everything that work on a store depends on, and says what to do
// about each problem. It changes nothing, and calls the provider twice: for the time, and for one
// page of batches. Without a key it says so and checks the rest.

import { statSync } from "node:fs";
import type { BatchState, Dispatcher, Store } from "batchwise/dispatch";
import { accountFault } from "../accounts/account-fault.ts";
import { chooseProvider, openAccount, wantedKeys } from "../accounts/open-account.ts";
import type { OpenAccount } from "../accounts/opened.ts";
import { storeFlag } from "../common/command-line.ts";
import { CommandError, EXIT, wordsOf } from "../common/failures.ts";
import { duration } from "../common/print.ts";
import { sqlitePath } from "../common/stores.ts";
import { print, printJson } from "../common/terminal.ts";
import { withStoreOf } from "../common/with-store.ts";
import {
  batchFindings,
  clockFinding,
  deadLetterFinding,
  type Finding,
  filesFinding,
  ledgerFindings,
  limitsFinding,
  nodeFinding,
  proxyFindings,
  riskFindings,
  waitingFinding,
} from "./findings.ts";
import type { DoctorFlags } from "./jobs-flags.ts";

const OPEN: readonly BatchState[] = [
  ...(["sealed", "submitting", "unknown", "waiting_capacity"] as const),
  ...(["submitted", "running", "collecting", "quarantined"] as const),
];
const MOST_BATCHES = 1_000;
const DEAD_LETTERS_COUNTED = 100;
const CLOCK_MS = 10_000;
const OTHERS_READ = 0o004;

/** Returns the exit code. */
export async function doctor(flags: DoctorFlags): Promise<number> {
  const { version, env, execArgv } = process;
  const ofNode = [nodeFinding(version), ...proxyFindings(env, version, execArgv)];
  const findings = [...ofNode, ...(await storeFindings(flags)), ...(await providerFindings(flags))];
  if (flags.json) printJson({ healthy: !findings.some(isProblem), findings });
  else print(findings.flatMap(linesOf));
  return findings.some(isProblem) ? EXIT.attention : EXIT.done;
}

function isProblem({ level }: Finding): boolean {
  return level === "problem";
}

const SIGNS = { ok: "ok     ", notice: "notice ", problem: "PROBLEM" } as const;

function linesOf({ check, level, found, advice }: Finding): string[] {
  return [`${SIGNS[level]} ${check}: ${found}`, ...(advice === null ? [] : [`        -> ${advice}`])];
}

async function storeFindings({ store: url }: DoctorFlags): Promise<Finding[]> {
  try {
    return await withStoreOf(url, async ({ dispatcher, name, store }) => {
      const begunAt = performance.now();
      await dispatcher.stats();
      const found = `${name} answers in ${duration(performance.now() - begunAt)}, and its schema is this version's`;
      return [
        { check: "store", level: "ok", found, advice: null },
        ...riskFindings(store.risk ?? null),
        ...(await storeClock(store)),
        ...filesFinding(readableFiles(url)),
        ...(await workFindings(dispatcher, storeFlag(url))),
      ];
    });
  } catch (error) {
    // An error of the arguments says what to do.
    const isSaid = error instanceof CommandError && error.exitCode === EXIT.usage;
    const advice = isSaid ? null : "Check the address, the server and its rights; --store names another.";
    return [{ check: "store", level: "problem", found: wordsOf(error), advice }];
  }
}

/** Empty for a store without its own clock. */
async function storeClock(store: Store): Promise<Finding[]> {
  const begunAt = Date.now();
  const at = await store.now?.();
  if (at === undefined) return [];
  return [clockFinding((begunAt + Date.now()) / 2 - at, "store")];
}

/** The files of a SQLite store that every user of the machine can read. */
function readableFiles(url: string): string[] {
  const path = sqlitePath(url);
  if (path === null) return [];
  return ["", "-wal", "-shm"]
    .map((end) => `${path}${end}`)
    .filter((file) => ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & OTHERS_READ) !== 0);
}

async function workFindings(dispatcher: Dispatcher, store: string): Promise<Finding[]> {
  const now = Date.now();
  const stats = await dispatcher.stats();
  const batches = await dispatcher.batches({ states: OPEN, limit: MOST_BATCHES });
  const dead = await dispatcher.deadLetters({ limit: DEAD_LETTERS_COUNTED + 1 });
  return [
    waitingFinding(stats, now),
    ...batchFindings(batches, now, store),
    deadLetterFinding(Math.min(dead.length, DEAD_LETTERS_COUNTED), dead.length > DEAD_LETTERS_COUNTED),
    ...ledgerFindings(stats, now),
  ];
}

async function providerFindings(flags: DoctorFlags): Promise<Finding[]> {
  const check = "account";
  if (chooseProvider(flags) === null) {
    const advice = `Export ${wantedKeys()} to have it checked, or name one by --account.`;
    return [{ check, level: "notice", found: "not checked: no key is set", advice }];
  }
  try {
    const opened = await openAccount(flags);
    return [await accountFinding(opened), limitsFinding(opened.account.capabilities.limits), await clockOf(opened)];
  } catch (error) {
    return [{ check, level: "problem", found: wordsOf(error), advice: null }];
  }
}

async function accountFinding(opened: OpenAccount): Promise<Finding> {
  const check = "account";
  const fault = await accountFault(opened);
  if (fault === null) {
    return { check, level: "ok", found: `${opened.url} takes ${opened.credentials}`, advice: null };
  }
  const level = fault.mayStillSend ? "notice" : "problem";
  return { check, level, found: fault.found, advice: fault.advice };
}

/** Every answer has a Date in whole seconds, including a refusal. */
async function clockOf({ url }: OpenAccount): Promise<Finding> {
  try {
    const begunAt = Date.now();
    const { headers } = await fetch(url, { method: "HEAD", signal: AbortSignal.timeout(CLOCK_MS) });
    const middle = (begunAt + Date.now()) / 2;
    const date = Date.parse(headers.get("date") ?? "");
    return clockFinding(Number.isNaN(date) ? null : middle - (date + 500));
  } catch {
    return clockFinding(null);
  }
}
