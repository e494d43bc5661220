/**
 * A provider with rate limits: the limiter compared with retries only and with a gate written by
 * hand.
 */
import type { Measurement } from "../harness/child.ts";
import { median } from "../harness/numbers.ts";
import type { Progress } from "../harness/rounds.ts";
import { type LimitedConfig, measureLimited } from "../load/limited-provider.ts";
import { type Claim, figure, type Scale, type Section } from "../report/section.ts";

interface Contender {
  readonly title: string;
  readonly name: "limiter" | "retry" | "gate";
  readonly batchers: number;
}

const ours: Contender = { title: "**batchwise, limiter**", name: "limiter", batchers: 1 };
const shared: Contender = { title: "batchwise, 16 batchers, one limiter", name: "limiter", batchers: 16 };
const gate: Contender = { title: "batchwise, pause() and resume() by hand", name: "gate", batchers: 1 };
const contenders: readonly Contender[] = [
  ours,
  shared,
  { title: "batchwise, retry alone", name: "retry", batchers: 1 },
  gate,
];

/** Below the limit of tokens, where calls are the scarce resource; and above it. */
const CALLS_ARE_SHORT = 60;
const TOKENS_ARE_SHORT = 90;

type Found = ReadonlyMap<Contender, readonly Measurement[]>;

async function measureAll(perSecond: number, seeds: number, progress: Progress): Promise<Found> {
  const found = new Map<Contender, Measurement[]>();
  for (const contender of contenders) {
    progress(`limits: ${contender.name} x ${contender.batchers}, ${perSecond}/s`);
    const runs: Measurement[] = [];
    for (let seed = 1; seed <= seeds; seed += 1) {
      const settings: Partial<LimitedConfig> = { perSecond, batchers: contender.batchers, seed };
      runs.push(await measureLimited(contender.name, settings));
    }
    found.set(contender, runs);
  }
  return found;
}

function medianOf(found: Found, contender: Contender, field: string): number {
  return median((found.get(contender) ?? []).map((run) => run[field] ?? Number.NaN));
}

function rowsOf(found: Found): string[][] {
  const percent = (contender: Contender, field: string): string =>
    `${figure(medianOf(found, contender, field) * 100)} %`;
  return contenders.map((contender) => [
    contender.title,
    `${figure(medianOf(found, contender, "refused"))} of ${figure(medianOf(found, contender, "calls"))}`,
    percent(contender, "refusedShare"),
    `${figure(medianOf(found, contender, "p50Ms"))} / ${figure(medianOf(found, contender, "p99Ms"))}`,
    percent(contender, "tokensUsedShare"),
  ]);
}

function claimsOf(calls: Found, tokens: Found): Claim[] {
  const refused = (contender: Contender, found: Found, load: string): Claim => ({
    text: `limits: calls answered 429, ${contender.title}, ${load}`,
    measured: medianOf(found, contender, "refusedShare") * 100,
    sense: "below",
    limit: 2,
    unit: "%",
  });
  return [
    refused(ours, calls, `${CALLS_ARE_SHORT}/s`),
    refused(ours, tokens, `${TOKENS_ARE_SHORT}/s`),
    refused(shared, calls, `${CALLS_ARE_SHORT}/s`),
    refused(shared, tokens, `${TOKENS_ARE_SHORT}/s`),
    {
      text: `limits: p50 against ${gate.title}, ${CALLS_ARE_SHORT}/s`,
      measured: medianOf(calls, ours, "p50Ms") / medianOf(calls, gate, "p50Ms"),
      sense: "at most",
      limit: 1,
      unit: "x",
    },
    {
      text: `limits: tokens used of the limit, ${ours.title}, ${TOKENS_ARE_SHORT}/s`,
      measured: medianOf(tokens, ours, "tokensUsedShare") * 100,
      sense: "at least",
      limit: 97,
      unit: "%",
    },
  ];
}

export async function limits({ rounds }: Scale, progress: Progress): Promise<Section> {
  const calls = await measureAll(CALLS_ARE_SHORT, rounds, progress);
  const tokens = await measureAll(TOKENS_ARE_SHORT, rounds, progress);
  const head = (perSecond: number): string[] => [
    `${perSecond} submits a second`,
    "refused calls",
    "share",
    "p50 / p99 in ms",
    "tokens used",
  ];
  return {
    title: "A provider with rate limits",
    about: [
      "It takes 2 calls and 20,000 tokens a second (token buckets of one second) and answers 429 with Retry-After to what",
      "is over. Poisson arrivals for a minute; an item has 150 to 450 tokens; a call takes 100 ms, a refused one 20.",
      "Simulated on the virtual clock: the figures do not depend on the machine. Each is the median over the seeds.",
    ],
    tables: [
      { head: head(CALLS_ARE_SHORT), rows: rowsOf(calls) },
      { head: head(TOKENS_ARE_SHORT), rows: rowsOf(tokens) },
    ],
    claims: claimsOf(calls, tokens),
  };
}
