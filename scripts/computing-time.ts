// A setup file of vitest: fails a test during which its process computed for more than two minutes.
// The timeout of a test cannot show that, because it counts the time of other processes, too.

import { afterEach } from "vitest";

const MOST_SECONDS = 120;
let before = process.cpuUsage();

afterEach(() => {
  const now = process.cpuUsage();
  const seconds = (now.user - before.user + now.system - before.system) / 1e6;
  before = now;
  if (seconds > MOST_SECONDS) {
    throw new Error(`Expected the test to compute for at most ${MOST_SECONDS} s, it took ${seconds.toFixed(0)} s.`);
  }
});
