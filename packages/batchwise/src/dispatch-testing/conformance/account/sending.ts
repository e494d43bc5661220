// Cases on sending a batch and finding it again.

import { deepEqual, equal, ok } from "node:assert/strict";
import type { ListPage } from "../../../dispatch/contract/account.ts";
import {
  type AccountCase,
  accountCase,
  call,
  collect,
  createOf,
  goesWhole,
  HOUR,
  isAnswer,
  isOurs,
  MINUTE,
  NAME,
  nameOf,
  names,
  START,
  saidBy,
  submit,
  submitThese,
  surfaceOf,
} from "./case.ts";

export const sendingCases: readonly AccountCase[] = [
  accountCase("sends a batch once and gives every request its answer in OpenAI's format", async (rig) => {
    const { fake, clock, account } = rig;
    const created = await submit(account, 20);
    const { createdAt, expiresAt, resultRefs, failure } = created;
    deepEqual([resultRefs, failure], [[], null]);
    ok(createdAt === 0 || createdAt === START, `created at another time: ${createdAt}`);
    ok(expiresAt === null || expiresAt > START, `expires before it began: ${expiresAt}`);
    equal(fake.calls(createOf(rig)), 1);
    await clock.advance(HOUR);
    const done = await account.retrieve(created.id, call());
    deepEqual([done?.id, done?.state, done?.total, done?.settled], [created.id, "done", 20, 20]);
    const lines = await collect(account, done);
    deepEqual(lines.map(({ customId }) => customId).sort(), names(20));
    for (const line of lines) isAnswer(line);
    deepEqual([...fake.runs().values()], new Array(20).fill(1));
  }),

  accountCase(
    "gives every caller its own answer when a member has left before the batch was sent",
    async ({ clock, account }) => {
      const stayed = [1, 3, 4];
      // If results are named by place, the dispatcher sends the others as a new batch without a
      // gap.
      const asked = stayed.map((text, index) => ({ place: goesWhole(account) ? index : text, text }));
      const [whole, part] = [await submit(account, 5), await submitThese(account, asked, call(), 2)];
      await clock.advance(HOUR);
      const everyText = await collect(account, await account.retrieve(whole.id, call()));
      const said = new Map(everyText.map((line) => [line.customId, saidBy(line)]));
      const lines = await collect(account, await account.retrieve(part.id, call()), call(), 2);
      deepEqual(
        Object.fromEntries(lines.map((line) => [line.customId, saidBy(line)])),
        Object.fromEntries(asked.map(({ place, text }) => [nameOf(place), said.get(nameOf(text))])),
      );
    },
  ),

  accountCase("finds its batch in the list by the data that it sent", async (rig) => {
    const { fake, account } = rig;
    fake.addForeign({ requests: 4, surface: surfaceOf(rig) });
    const created = await submit(account, 3);
    const { batches } = await account.list({ cursor: null, limit: 100 }, call());
    equal(batches.length, 2);
    const found = batches.filter((batch) => isOurs(account, batch, created));
    deepEqual(
      found.map(({ id }) => id),
      [created.id],
    );
  }),

  accountCase("finds its batch by its tag, if the provider supports that", async (rig) => {
    const { account } = rig;
    if (account.find === undefined) return;
    deepEqual(await account.find(NAME, call()), []);
    const created = await submit(account, 3);
    const found = await account.find(NAME, call());
    deepEqual(
      found.map(({ id }) => id),
      [created.id],
    );
    deepEqual(await account.find({ ...NAME, key: NAME.key.replace("01JD", "01JE") }, call()), []);
  }),

  accountCase("lists page by page to the end", async ({ account }) => {
    const ids: string[] = [];
    for (let attempt = 1; attempt <= 5; attempt += 1) ids.push((await submit(account, 1, call(), attempt)).id);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: ListPage = await account.list({ cursor, limit: 2 }, call());
      seen.push(...page.batches.map(({ id }) => id));
      cursor = page.next;
    } while (cursor !== null);
    deepEqual(seen, ids.reverse());
  }),

  accountCase("distinguishes running from waiting, and takes no unknown state for an end", async (rig) => {
    rig.fake.planNext({ strangeState: "pondering", stateCase: "capitalised" });
    const created = await submit(rig.account, 4);
    await rig.clock.advance(2 * MINUTE);
    equal((await rig.account.retrieve(created.id, call()))?.state, "running");
  }),

  accountCase("returns null for an unknown batch", async ({ account }) => {
    equal(await account.retrieve("batch_none", call()), null);
  }),
];
