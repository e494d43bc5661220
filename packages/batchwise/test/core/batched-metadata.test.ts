import { describe, expect, test } from "vitest";
import { compiled, type DecoratorForm } from "./compiled.ts";
import type * as Fixture from "./fixtures/batched-metadata.ts";

describe.each<DecoratorForm>(["standard", "legacy"])("a batched method (%s)", (form) => {
  const fixture = (): Promise<typeof Fixture> => compiled<typeof Fixture>("batched-metadata", form);

  test("keeps the properties, symbols, Reflect metadata and length that earlier decorators have set", async () => {
    const { found, encodeOne } = await fixture();
    expect(found).toEqual({
      properties: ["/encode", ["GET"], 1],
      isHidden: true,
      metadata: ["admin"],
      lengths: [2, 1],
      names: ["encode", "count"],
    });
    expect(await encodeOne()).toEqual([4]);
  });

  test("has a batcher that is called Class.method, by the class of the instance, unless `name` is given", async () => {
    expect((await fixture()).batcherNames).toEqual(["Encoder.encode", "SubEncoder.encode", "Encoder.count", "own"]);
  });
});
