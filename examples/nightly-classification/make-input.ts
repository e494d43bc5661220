// Makes an input file to try the example with: support messages, each different from every other.
// `node examples/nightly-classification/make-input.ts 5000 > messages.jsonl`

import { once } from "node:events";
import type { Writable } from "node:stream";

const COMPLAINTS = [
  "I was charged twice on my last invoice, please refund one of the payments.",
  "The app crashes with an error whenever I open the settings.",
  "My parcel was sent a week ago and the tracking has not moved since.",
  "Just wanted to say that the new design is lovely.",
  "The invoice names the wrong company, can you send a corrected bill?",
  "Login fails with error 500 on my phone, and only there.",
  "The courier left the delivery at the wrong door.",
  "Do you have an office in Lisbon?",
];

/** Writes `count` lines of `{ id, text }`. */
export async function makeInput(count: number, to: Writable): Promise<void> {
  for (let n = 1; n <= count; n += 1) {
    const text = `${COMPLAINTS[n % COMPLAINTS.length]} (customer ${n})`;
    const line = `${JSON.stringify({ id: `message-${n}`, text })}\n`;
    if (!to.write(line)) await once(to, "drain");
  }
}

if (import.meta.main) await makeInput(Number(process.argv[2] ?? 5_000), process.stdout);
