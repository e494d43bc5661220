import { expect, test } from "vitest";
import { LargeAnswers } from "../../../src/http/large-bodies/large-answers.ts";
import { Exchange } from "../../../src/http/requests/exchange.ts";

test("an answer whose pieces fail returns its room, and its reader gets the error", async () => {
  const answers = new LargeAnswers(1_000, 1_000);
  const pieces = (function* (): Generator<string> {
    yield "[";
    throw new RangeError("no more");
  })();
  const body = answers.send({ pieces, bytes: 1_000, exchange: new Exchange(undefined) });
  expect(() => answers.checkRoom()).toThrow();
  await expect(new Response(body).text()).rejects.toThrow("no more");
  expect(() => answers.checkRoom()).not.toThrow();
});
