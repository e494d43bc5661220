/**
 * The least mean latency of one slot with Poisson arrivals and fixed run times, exactly. The best
 * rule is a control limit: serve all that waits, up to the cap, once at least M wait (Deb and
 * Serfozo 1973). The number that waits at the end of a batch is a Markov chain; its stationary
 * distribution gives the mean number in the system, and Little's law the latency.
 */

/** More waiting items than this are not followed. */
const STATES = 600;
const ROUNDS = 5_000;

interface Single {
  readonly runMs: Float64Array;
  readonly cap: number;
  readonly perMs: number;
}

export function leastLatencyMs(single: Single): number {
  let best = Infinity;
  for (let least = 1; least <= single.cap; least += 1) {
    const latencyMs = latencyWith(single, least);
    // It falls with the limit, then rises.
    if (latencyMs > 1.01 * best) break;
    best = Math.min(best, latencyMs);
  }
  return best;
}

function latencyWith({ runMs, cap, perMs }: Single, least: number): number {
  const sizeFrom = (waiting: number): number => Math.min(cap, Math.max(waiting, least));
  const arrivals = Array.from({ length: cap + 1 }, (_, size) => poisson(perMs * (runMs[size] as number)));
  let now = new Float64Array(STATES);
  now[0] = 1;
  for (let round = 0; round < ROUNDS; round += 1) {
    const next = new Float64Array(STATES);
    for (let waiting = 0; waiting < STATES; waiting += 1) {
      const share = now[waiting] as number;
      if (share < 1e-15) continue;
      const size = sizeFrom(waiting);
      const left = Math.max(waiting, least) - size;
      for (const [count, probability] of (arrivals[size] as number[]).entries()) {
        const to = Math.min(STATES - 1, left + count);
        next[to] = (next[to] as number) + share * probability;
      }
    }
    const moved = next.reduce((sum, share, state) => sum + Math.abs(share - (now[state] as number)), 0);
    now = next;
    if (moved < 1e-10) break;
  }
  // Per cycle: its length, and the integral of the number in the system.
  let [lengthMs, area] = [0, 0];
  for (const [waiting, share] of now.entries()) {
    const missing = Math.max(0, least - waiting);
    const ms = runMs[sizeFrom(waiting)] as number;
    lengthMs += share * (missing / perMs + ms);
    const gathering = (missing * waiting + (missing * (missing - 1)) / 2) / perMs;
    area += share * (gathering + Math.max(waiting, least) * ms + (perMs * ms * ms) / 2);
  }
  return area / lengthMs / perMs;
}

/** Probabilities of 0, 1, 2, ... arrivals, without the tail below one in a billion. */
function poisson(mean: number): number[] {
  const probabilities: number[] = [];
  let one = Math.exp(-mean);
  for (let count = 0; count <= mean || one > 1e-10; count += 1) {
    probabilities.push(one);
    one *= mean / (count + 1);
  }
  return probabilities;
}
