// One request for many jobs: a mail service that accepts up to 200 mails per request and answers
// for each.

import { type Batcher, createBatcher } from "batchwise";

export interface Mail {
  readonly to: string;
  readonly text: string;
}

export interface Receipt {
  readonly mailId: string;
}

/** The service's answer for each mail, in the order of the mails. */
export type Answer = { readonly id: string } | { readonly error: string };

/** An error for one mail in the answer rejects only that mail's job. */
export function mailBatcher(url: string): Batcher<Mail, Receipt> {
  return createBatcher<Mail, Receipt>(
    async (mails, { signal }) => {
      const response = await fetch(url, { method: "POST", body: JSON.stringify({ mails }), signal });
      if (!response.ok) throw new Error(`The mail service answered ${response.status}.`);
      const { answers } = (await response.json()) as { readonly answers: readonly Answer[] };
      return answers.map((answer) => ("error" in answer ? new Error(answer.error) : { mailId: answer.id }));
    },
    { maxBatchSize: 200, concurrency: 2, maxWaitMs: 20, handlerTimeoutMs: 20_000 },
  );
}
