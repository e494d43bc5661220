// Interprets the facts that `doctor` has gathered, and says what to do. Pure functions.

import type { BatchRecord, DispatchError, DispatcherStats, ProviderLimits } from "batchwise/dispatch";
import { quoted } from "../common/command-line.ts";
import { counted, duration, plural } from "../common/print.ts";

export interface Finding {
  readonly check: string;
  /** `problem`: work has stopped, or will stop. `notice`: worth a look. */
  readonly level: "ok" | "notice" | "problem";
  readonly found: string;
  /** What to do; null if nothing. */
  readonly advice: string | null;
}

const SECOND = 1_000;
const HOUR = 3_600_000;
/** By default a batch waits at most two hours to fill up. */
const WAITED_LONG_MS = 3 * HOUR;
/** The default of `stuckAfterMs`. */
const STUCK_MS = 26 * HOUR;
const SKEW_NOTICE_MS = 30 * SECOND;
const SKEW_PROBLEM_MS = 10 * 60 * SECOND;
const LEAST_NODE = [20, 19] as const;

function ok(check: string, found: string): Finding {
  return { check, level: "ok", found, advice: null };
}

/** The finding on the store says what a SQLite store needs. */
export function nodeFinding(version: string): Finding {
  const check = "Node.js";
  if (isOlder(version, LEAST_NODE)) {
    return { check, level: "problem", found: version, advice: `Install Node.js ${LEAST_NODE.join(".")} or later.` };
  }
  return ok(check, version);
}

function isOlder(version: string, [major, minor]: readonly [number, number]): boolean {
  const [itsMajor = 0, itsMinor = 0] = version.replace(/^v/, "").split(".").map(Number);
  return itsMajor < major || (itsMajor === major && itsMinor < minor);
}

const PROXIES = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"] as const;

/**
 * Findings about a proxy in the environment; none if there is none. The proxy's address may contain
 * a password, so it is not shown.
 */
export function proxyFindings(environment: NodeJS.ProcessEnv, version: string, options: readonly string[]): Finding[] {
  const check = "proxy";
  const name = PROXIES.find((each) => (environment[each] ?? "") !== "");
  if (name === undefined) return [];
  const [major = 0, minor = 0] = version.replace(/^v/, "").split(".").map(Number);
  if (major < 22 || major === 23 || (major === 22 && minor < 21)) {
    const found = `${name} is set, and Node.js ${version} does not use it`;
    const advice =
      "Install Node.js 22.21, 24 or later and set NODE_USE_ENV_PROXY=1; in code, give the client undici's ProxyAgent.";
    return [{ check, level: "notice", found, advice }];
  }
  const isOn =
    environment.NODE_USE_ENV_PROXY === "1" ||
    [...options, environment.NODE_OPTIONS ?? ""].some((option) => option.includes("--use-env-proxy"));
  if (isOn) return [ok(check, `${name} is used`)];
  const found = `${name} is set, and Node.js ${version} uses it only when enabled`;
  return [{ check, level: "notice", found, advice: "Set NODE_USE_ENV_PROXY=1 if the provider is behind it." }];
}

/** `risk`: the problem that the store has found in its server's settings. */
export function riskFindings(risk: DispatchError | null): Finding[] {
  if (risk === null) return [];
  const level = risk.code === "STORE_EVICTS" ? "problem" : "notice";
  return [{ check: "store", level, found: risk.message, advice: null }];
}

/** `files`: files of the store that every user of the machine can read. */
export function filesFinding(files: readonly string[]): Finding[] {
  if (files.length === 0 || process.platform === "win32") return [];
  const found = `any user of this machine can read ${files.join(", ")}, with all requests and answers`;
  return [{ check: "store", level: "notice", found, advice: `chmod o-r ${files.map(quoted).join(" ")}` }];
}

/** `aheadMs`: ms by which the clock of `whose` is ahead of ours; null if it gave no time. */
export function clockFinding(aheadMs: number | null, whose: "provider" | "store" = "provider"): Finding {
  const check = "clock";
  if (aheadMs === null) return { check, level: "notice", found: `the ${whose} reports no time`, advice: null };
  const off = Math.abs(aheadMs);
  const found = `${duration(off)} ${aheadMs > 0 ? "ahead of" : "behind"} the ${whose}'s`;
  if (off < SKEW_NOTICE_MS) return ok(check, `agrees with the ${whose}'s`);
  const level = off < SKEW_PROBLEM_MS ? "notice" : "problem";
  return { check, level, found, advice: "Set the machine's clock by NTP: deadlines and retries go by it." };
}

export function limitsFinding(limits: ProviderLimits): Finding {
  const names: [keyof ProviderLimits, string][] = [
    ["maxRequests", "requests a batch"],
    ["maxBytes", "bytes a batch"],
    ["maxEnqueuedTokens", "tokens enqueued"],
    ["maxEnqueuedRequests", "requests enqueued"],
    ["maxCreatesPerHour", "batches an hour"],
  ];
  const known = names.flatMap(([name, words]) => {
    const limit = limits[name];
    return limit === undefined || limit === Number.POSITIVE_INFINITY ? [] : [`${counted(limit)} ${words}`];
  });
  return ok("limits", known.join(", ") || "none known");
}

export function ledgerFindings({ ledgers }: DispatcherStats, now: number): Finding[] {
  return ledgers.flatMap(({ name, tokens, batches, learnedTokens, blockedUntil }) => {
    const check = `limit of ${name}`;
    if (blockedUntil > now) {
      const advice =
        "The provider has refused: `batchwise jobs list` shows the errors of its batches. It is tried again then.";
      return [{ check, level: "problem" as const, found: `paused for ${duration(blockedUntil - now)} more`, advice }];
    }
    const learned = learnedTokens === null ? "" : ` of ${counted(learnedTokens)} that a refusal has taught`;
    return [ok(check, `${counted(tokens)} tokens in flight${learned}, ${plural(batches, "batch", "batches")}`)];
  });
}

/** `batches`: batches that have not ended. `store`: the flag for the store, or "". */
export function batchFindings(batches: readonly BatchRecord[], now: number, store: string): Finding[] {
  const findings: Finding[] = [];
  for (const batch of batches) {
    const { key, state, remaining, createdAt, lastError, account } = batch;
    if (state === "quarantined") {
      const why = lastError === null ? "" : `: ${lastError.message}`;
      const ways = `batchwise jobs requeue ${key}${store} sends them again (they may have run)`;
      const advice = `${ways}; with --resume it looks at the provider's batch once more.`;
      const found = `quarantined, ${plural(remaining, "request")} wait${why}`;
      findings.push({ check: `batch ${key}`, level: "problem", found, advice });
    } else if (now - createdAt > STUCK_MS) {
      const id = batch.providerBatchId === null ? "was never sent" : `is ${batch.providerState} there`;
      const advice = `It ${id}. Is a process running that has the account "${account}"? Else batchwise jobs cancel --batch ${key}${store}`;
      const found = `${state} for ${duration(now - createdAt)}`;
      findings.push({ check: `batch ${key}`, level: "problem", found, advice });
    }
  }
  return findings.length > 0
    ? findings
    : [ok("batches", `${plural(batches.length, "batch", "batches")} open, none stuck`)];
}

export function waitingFinding({ lanes }: DispatcherStats, now: number): Finding {
  const check = "waiting";
  const waiting = lanes.reduce((sum, lane) => sum + lane.waiting, 0);
  const oldest = Math.min(...lanes.map(({ oldestAt }) => oldestAt ?? Number.POSITIVE_INFINITY));
  if (waiting === 0 || oldest === Number.POSITIVE_INFINITY) return ok(check, "no request waits for a batch");
  const requests = lanes.some(({ orMore }) => orMore)
    ? `${counted(waiting)} or more requests`
    : plural(waiting, "request");
  const found = `${requests}, the oldest for ${duration(now - oldest)}`;
  if (now - oldest < WAITED_LONG_MS) return ok(check, found);
  const advice = "Does a dispatcher run on this store, with an account for these models? `batchwise run` is one.";
  return { check, level: "problem", found, advice };
}

/** `isMore`: true if there are more than `count`. */
export function deadLetterFinding(count: number, isMore: boolean): Finding {
  if (count === 0) return ok("dead letters", "none");
  const found = `${isMore ? "more than " : ""}${plural(count, "outcome")} the webhook did not take in twelve tries`;
  const advice = "Once it answers again: dispatcher.redeliver() gives each twelve more tries.";
  return { check: "dead letters", level: "problem", found, advice };
}
