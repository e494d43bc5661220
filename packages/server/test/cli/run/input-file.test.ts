import { expect, test } from "vitest";
import { fileId, jobOf, namedRequest, storeId } from "../../../src/cli/run/input-file.ts";

const body = { model: "m", input: "x" };

test.each([
  ["reviews.jsonl", "reviews"],
  ["data/2026/reviews.v2.jsonl", "reviews.v2"],
  ["reviews", "reviews"],
  [".jsonl", ".jsonl"],
])("the job of %s is %s", (path, job) => {
  expect(jobOf(path)).toBe(job);
});

test("ids are kept apart by their job, and come back as the file has them", () => {
  expect(storeId("j", "a:b")).toBe("j:a:b");
  expect(fileId("j", "j:a:b")).toBe("a:b");
  expect(fileId("j", "other:a")).toBe("other:a");
});

test("a batch line becomes a request, so that a default model counts for it", () => {
  const line = { custom_id: "a", method: "POST", url: "/v1/embeddings", body } as const;
  expect(namedRequest(line, "j", 4).request).toEqual({ id: "j:a", job: "j", endpoint: "/v1/embeddings", body });
});

test("a request without an id is named by its index", () => {
  expect(namedRequest({ body, tenant: "t" }, "j", 4).request).toEqual({ id: "j:4", job: "j", tenant: "t", body });
});

test("the same job in a line is taken, another is refused", () => {
  expect(namedRequest({ body, job: "j" }, "j", 0).request.job).toBe("j");
  const wrong = 'Line 1: expected no `job`, or "j", which is the job of this run (see --job), got "k".';
  expect(() => namedRequest({ body, job: "k" }, "j", 0)).toThrow(wrong);
});
