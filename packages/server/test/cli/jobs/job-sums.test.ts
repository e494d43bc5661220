import type { Store, UsageRecord } from "batchwise/dispatch";
import { expect, test } from "vitest";
import { sumsEver, unsuccessfulNow, withEnds } from "../../../src/cli/jobs/job-sums.ts";

const row: UsageRecord = {
  ...{ tenant: "", job: "j", endpoint: "/v1/embeddings", model: "m", requests: 5, price: 0.5 },
  ...{ ended: { succeeded: 2, failed: 2, cancelled: 0, expired: 0 } },
  ...{ inputTokens: 2, cachedTokens: 0, outputTokens: 1, reasoningTokens: 0 },
};

type Page = Awaited<ReturnType<Store["find"]>>;

/**
 * A store with these pages of requests, each of which ended with one of these statuses; then with
 * empty pages.
 */
function storeOf(...pages: readonly (readonly string[])[]): Store {
  const find = async ({ after }: { readonly after: number }): Promise<Page> => {
    const rows = (pages[after] ?? []).map((status) => ({ ended: { status, code: `${status}_code` } }));
    return { rows: rows as unknown as Page["rows"], next: after + 1 };
  };
  return { find } as unknown as Store;
}

test("sums are by job, over tenants, endpoints and models; of requests without a job only the ended ones are known", () => {
  const rows = [row, { ...row, tenant: "b", requests: 4 }, { ...row, job: "", requests: 0 }];
  expect(sumsEver(rows)).toMatchObject([
    { job: "", requests: 4, open: null, succeeded: 2 },
    { job: "j", requests: 9, open: 1, succeeded: 4, failed: 4, inputTokens: 4, outputTokens: 2, cost: 1 },
  ]);
});

test("the cost is not known where tokens of a model without a price were used", () => {
  expect(sumsEver([row, { ...row, price: null }])).toMatchObject([{ cost: null }]);
  expect(sumsEver([row, { ...row, price: null, inputTokens: 0, outputTokens: 0 }])).toMatchObject([{ cost: 0.5 }]);
});

test("requests and those without success are counted as they stand now, so that a retried one counts once", async () => {
  // Five ends without success, of which one request still has its own.
  const ended = { succeeded: 4, failed: 5, cancelled: 0, expired: 0 };
  const [ever] = sumsEver([{ ...row, requests: 9, ended }]) as [ReturnType<typeof sumsEver>[number]];
  const store = {
    find: async () => ({ ...(await storeOf(["failed"]).find({ match: {}, after: 0, limit: 1 })), next: null }),
  };
  const now = await unsuccessfulNow(store as unknown as Store, ever, 10);
  expect(now).toEqual({ failed: 1, cancelled: 0, expired: 0, codes: new Map([["failed_code", 1]]), exact: true });
  expect(withEnds(ever, now)).toMatchObject({ requests: 5, open: 0, succeeded: 4, failed: 1, exact: true });
});

test("it looks no further than to the last one, nor further than it may", async () => {
  const [ever] = sumsEver([row]) as [ReturnType<typeof sumsEver>[number]];
  expect(await unsuccessfulNow(storeOf([], ["failed"], ["expired"]), ever, Infinity)).toMatchObject({
    ...{ failed: 1, expired: 1, exact: true },
  });
  expect(await unsuccessfulNow(storeOf([], ["failed"]), ever, 3)).toMatchObject({ failed: 2, exact: false });
});
