// Whether an account works, before anything is sent: each of its probes is asked once.

import { CommandError, EXIT, wordsOf } from "../common/failures.ts";
import type { OpenAccount, Probe } from "./opened.ts";

const CHECK_MS = 30_000;

/** What is wrong with an account, and what to do about it. */
export interface AccountFault {
  readonly found: string;
  readonly advice: string;
  readonly exitCode: number;
}

/** A CommandError where the account has a fault. */
export async function checkAccount(opened: OpenAccount): Promise<void> {
  const fault = await accountFault(opened);
  if (fault === null) return;
  throw new CommandError(`${fault.found.replace(/\.$/, "")}. ${fault.advice}`, fault.exitCode);
}

/** Asks for one page of batches and of objects, which costs next to nothing. null where the account works. */
export async function accountFault(opened: OpenAccount): Promise<AccountFault | null> {
  const timeoutMs = Math.min(CHECK_MS, opened.account.requestTimeoutMs);
  for (const probe of opened.probes) {
    try {
      await probe.ask({ signal: AbortSignal.timeout(timeoutMs), timeoutMs });
    } catch (error) {
      const fault = faultOf(error, probe, opened);
      if (fault !== null) return fault;
    }
  }
  return null;
}

const REFUSALS: ReadonlySet<number | null> = new Set([401, 402, 403]);

function faultOf(error: unknown, { at }: Probe, opened: OpenAccount): AccountFault | null {
  const { account, credentials, address, advice } = opened;
  const { kind } = account.classify(error, "list");
  const status = statusOf(error);
  if (kind === "rateLimited") return null;
  const words = wordsOf(error);
  if (status === null && /credential/i.test(words)) {
    return { found: `there are no credentials for ${at}: ${words}`, advice, exitCode: EXIT.usage };
  }
  if (kind === "authOrBilling" || REFUSALS.has(status)) {
    return { found: `${at} refuses ${credentials}: ${words}`, advice, exitCode: EXIT.usage };
  }
  if (at !== opened.url) {
    return { found: `${at} cannot be listed: ${words}`, advice: "Check --bucket.", exitCode: EXIT.usage };
  }
  if (status === null) {
    const found = `nobody answers at ${at}: ${words}`;
    return { found, advice: `Check ${address}, and the network.`, exitCode: EXIT.failed };
  }
  const ways = `Check ${address}; if it is right, the provider has trouble: try again later.`;
  return { found: `${at} does not answer as it should: ${words}`, advice: ways, exitCode: EXIT.failed };
}

/** Official clients give errors that are answers the status, each at its own place. */
function statusOf(error: unknown): number | null {
  if (!(error instanceof Error)) return null;
  const { status, statusCode, code, $metadata = {} } = error as Told;
  const told = [status, statusCode, $metadata.httpStatusCode, code].find((each) => typeof each === "number");
  return typeof told === "number" ? told : null;
}

interface Told extends Error {
  readonly status?: unknown;
  readonly statusCode?: unknown;
  readonly code?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: unknown };
}
