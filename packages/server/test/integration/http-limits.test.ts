import { describe, expect, test } from "vitest";
import { embed, type Failure, startSmall } from "../support/services.ts";

describe("a request with more texts than the queue holds", () => {
  test("gets 413 with both numbers, since no waiting helps, while one that fits is answered", async () => {
    const service = await startSmall({ maxQueueSize: 4 });
    const refused = await embed(service, ["a", "b", "c", "d", "e"]);
    expect(refused.status).toBe(413);
    expect(refused.headers.get("x-should-retry")).toBe("false");
    expect(refused.headers.get("retry-after")).toBeNull();
    const { error } = (await refused.json()) as Failure;
    expect(error).toMatchObject({ code: "more_than_queue_holds", param: "input" });
    expect(error.message).toMatch(/\b5 texts\b.*\b4\b/);
    expect((await embed(service, ["a", "b", "c", "d"])).status).toBe(200);
  });
});
