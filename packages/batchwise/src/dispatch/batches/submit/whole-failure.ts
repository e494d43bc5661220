// Decides about a batch that was refused as a whole, with no line to blame. It is to blame only if
// the account accepted another batch of its lane after refusing it, and then refuses it again: it
// is halved, or its single request fails. Without that proof one request is sent as a canary; if
// that is refused, the account is paused. Pure.

import { isProbe, withPause, withProbe } from "../../accounts/outage.ts";
import { isTooLarge } from "../../accounts/provider-codes.ts";
import type { BatchRow } from "../../contract/store/rows.ts";
import type { OutcomeError } from "../../contract/types.ts";
import { backoff } from "../../runtime/backoff.ts";
import type { BatchCase, Evidence } from "../batch-case.ts";
import { partGroup, partOf } from "../parts.ts";
import { type Plan, plan } from "../plan.ts";

const MINUTE = 60_000;
const RETRY_FIRST_MS = 5_000;
const RETRY_MOST_MS = 5 * MINUTE;
const LANE_FIRST_MS = 5 * MINUTE;
const LANE_MOST_MS = 60 * MINUTE;
/** Time since the first refusal after which an operator decides. */
const GIVE_UP_MS = 48 * 60 * MINUTE;
/** With proof, refusals after which a single request fails; fewer if halving isolated it. */
const REFUSALS_OF_A_PART = 2;
const REFUSALS_ALONE = 3;
/** The same if the provider says that it failed itself. They take about nine hours. */
const FAILURES_ALONE = 12;

/** The figures of the batch with one more refusal. */
export function refusedOnceMore(batch: BatchRow, now: number): Pick<BatchRow, Refused> {
  const { wholeFailures, firstRefusedAt } = batch;
  return { wholeFailures: wholeFailures + 1, firstRefusedAt: firstRefusedAt ?? now, lastRefusedAt: now };
}

type Refused = "wholeFailures" | "firstRefusedAt" | "lastRefusedAt";

/** The part of a case that decides about a refusal. */
export type RefusalCase = Pick<BatchCase, "batch" | "evidence" | "now">;

/** `isItsOwn`: the provider says that the fault is its own, or says nothing. */
export function afterWholeFailure(
  { batch, evidence, now }: RefusalCase,
  lastError: OutcomeError,
  isItsOwn: boolean,
): Plan {
  const figures = refusedOnceMore(batch, now);
  const refused = { batch: { ...batch, ...figures }, evidence, now };
  const { disposal, ...next } = whatFollows(refused, lastError.code, isItsOwn, figures.firstRefusedAt ?? now);
  return plan(next.state, next.nextAt, {
    ...{ lastError, figures, dropFile: true },
    ...next,
    disposal: disposal === undefined ? null : { kind: disposal, error: lastError },
  });
}

/** What the decision changes, beside what every refusal does. */
interface Next extends Pick<Plan, "state" | "nextAt">, Partial<Pick<Plan, "pauseAccountUntil" | "outage">> {
  readonly disposal?: "split" | "canary" | "refuse";
}

/** `batch`: with this refusal counted. `since`: time of the first refusal. */
function whatFollows(refused: RefusalCase, code: string, isItsOwn: boolean, since: number): Next {
  const { batch, evidence, now } = refused;
  const { outage } = evidence;
  const isPart = partOf(batch) !== null;
  if (batch.requests > 1 && isToBlame(batch, code, evidence)) return { ...take(now), disposal: "split" };
  if (batch.requests === 1 && evidence.laneTakesOthers) return afterProof(batch, isItsOwn, now);
  if (now - Math.min(since, outage?.since ?? since) >= GIVE_UP_MS) return { state: "quarantined", nextAt: now };
  if (!isPart && batch.wholeFailures === 1 && outage === null) {
    return wait(now + backoff(RETRY_FIRST_MS, RETRY_MOST_MS, batch.submitAttempt));
  }
  return withoutProof(refused, code, since);
}

function isToBlame(batch: BatchRow, code: string, evidence: Evidence): boolean {
  const mustShrink = isTooLarge(code) && (partOf(batch) !== null || batch.wholeFailures > 1);
  return evidence.laneTakesOthers || mustShrink;
}

/** A single request that is refused while others are accepted. Fails it after several refusals. */
function afterProof(batch: BatchRow, isItsOwn: boolean, now: number): Next {
  const { wholeFailures } = batch;
  const least = partOf(batch) === null ? REFUSALS_ALONE : REFUSALS_OF_A_PART;
  if (wholeFailures >= (isItsOwn ? FAILURES_ALONE : least)) return { ...take(now), disposal: "refuse" };
  return wait(now + backoff(isItsOwn ? LANE_FIRST_MS : RETRY_FIRST_MS, LANE_MOST_MS, wholeFailures));
}

/** The batch, its lane or the account may be to blame: a canary of one request finds out. */
function withoutProof({ batch, evidence, now }: RefusalCase, code: string, since: number): Next {
  const { outage, pausedUntil, accountTakesOthers } = evidence;
  const mayProbe = batch.requests > 1 && partOf(batch)?.role !== "rest";
  if (accountTakesOthers) {
    if (mayProbe) return { ...take(now), disposal: "canary" };
    return wait(now + backoff(LANE_FIRST_MS, LANE_MOST_MS, batch.wholeFailures));
  }
  const isOwn = outage !== null && isProbe(batch, outage);
  const until = outage === null || isOwn ? pausedUntil : Math.max(pausedUntil, outage.holdUntil);
  // The account is paused already, or another batch is its probe.
  if (until > now) return wait(until);
  if (mayProbe && !isOwn) {
    const probed = withProbe(outage, since, code, partGroup(batch, "canary"), now);
    return { ...take(now), disposal: "canary", outage: probed };
  }
  const next = withPause(outage, since, code, batch, now);
  return { ...wait(next.nextAt), pauseAccountUntil: next.pausedUntil, outage: next.outage };
}

function wait(until: number): Next {
  return { state: "sealed", nextAt: until };
}

/** Its members leave it. */
function take(now: number): Next {
  return { state: "collecting", nextAt: now };
}
