// Checks an account before anything is sent: one call to the provider, and one listing of each
// bucket that it needs.

import { checkAccount as check, type AccountFault as Fault } from "batchwise/dispatch";
import { CommandError, EXIT, wordsOf } from "../common/failures.ts";
import { warn } from "../common/terminal.ts";
import type { OpenAccount, Probe } from "./opened.ts";

const CHECK_MS = 30_000;

/** A fault of an account, and what to do about it. */
export interface AccountFault {
  readonly found: string;
  readonly advice: string;
  readonly exitCode: number;
  /** True if the refused call needs a right that a key may lack although it can send. */
  readonly mayStillSend?: true;
}

/** Throws a CommandError if the account has a fault; prints a warning if it may still send. */
export async function checkAccount(opened: OpenAccount): Promise<void> {
  const fault = await accountFault(opened);
  if (fault === null) return;
  if (fault.mayStillSend) {
    warn(`${fault.found.replace(/\.$/, "")}. ${fault.advice}`);
    return;
  }
  throw new CommandError(`${fault.found.replace(/\.$/, "")}. ${fault.advice}`, fault.exitCode);
}

/**
 * Requests one page of batches and one of objects, which costs almost nothing. null if the account
 * works.
 */
export async function accountFault(opened: OpenAccount): Promise<AccountFault | null> {
  const fault = await check(opened.account);
  if (fault !== null) return faultOf(fault, opened);
  const timeoutMs = Math.min(CHECK_MS, opened.account.requestTimeoutMs);
  for (const bucket of opened.buckets) {
    try {
      await bucket.ask({ signal: AbortSignal.timeout(timeoutMs), timeoutMs });
    } catch (error) {
      return bucketFault(error, bucket, opened);
    }
  }
  return null;
}

function faultOf({ kind, status, message }: Fault, opened: OpenAccount): AccountFault {
  const { credentials, address, advice, url } = opened;
  if (kind === "key" && status === 403) {
    const found = `${url} does not let ${credentials} list anything: ${message}`;
    const sends =
      "It may still send, which the first upload shows; batches that it lost sight of are then not found again.";
    return { found, advice: `${sends} ${advice}`, exitCode: EXIT.usage, mayStillSend: true };
  }
  if (kind === "key") {
    const found = status === null ? `there are no credentials for ${url}` : `${url} refuses ${credentials}`;
    return { found: `${found}: ${message}`, advice, exitCode: EXIT.usage };
  }
  if (kind === "network") {
    const found = `no server answers at ${url}: ${message}`;
    return { found, advice: `Check ${address}, and the network.`, exitCode: EXIT.failed };
  }
  const ways = `Check ${address}; if it is right, the provider has trouble: try again later.`;
  return { found: `${url} does not answer as it should: ${message}`, advice: ways, exitCode: EXIT.failed };
}

const REFUSED = new Set<unknown>([401, 403]);

function bucketFault(error: unknown, { at }: Probe, { credentials, advice }: OpenAccount): AccountFault {
  const words = wordsOf(error);
  if (/credential/i.test(words)) {
    return { found: `there are no credentials for ${at}: ${words}`, advice, exitCode: EXIT.usage };
  }
  if (isRefusal(error)) return { found: `${at} refuses ${credentials}: ${words}`, advice, exitCode: EXIT.usage };
  return { found: `${at} cannot be listed: ${words}`, advice: "Check --bucket.", exitCode: EXIT.usage };
}

/** S3's and Google's clients put the status in different places. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, $metadata } = error as { readonly code?: unknown; readonly $metadata?: { httpStatusCode?: unknown } };
  return REFUSED.has(code) || REFUSED.has($metadata?.httpStatusCode);
}
