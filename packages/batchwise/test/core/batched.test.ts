import { type Batcher, batcherOf } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { reasonOf, thrownBy, watch } from "../support.ts";
import { compiled } from "./compiled.ts";
import type * as Fixture from "./fixtures/batched-classes.ts";

describe.each(["standard", "legacy"] as const)("a method with a %s decorator", (form) => {
  let fixture: typeof Fixture;
  beforeAll(async () => {
    fixture = await compiled<typeof Fixture>("batched-classes", form);
  });

  describe("merges calls", () => {
    test("of one turn, and gives each caller its own part", async () => {
      const { Encoder, calls } = fixture.makeClasses({});
      const encoder = new Encoder();
      const answers = [encoder.encode(["a", "b"]), encoder.encode([]), encoder.encode(["c"])];
      expect(await Promise.all(answers)).toEqual([["a!", "b!"], [], ["c!"]]);
      expect(calls.map(({ items }) => items)).toEqual([["a", "b", "c"]]);
    });

    test("without brackets and under a symbol as well", async () => {
      const { Encoder, calls } = fixture.makeClasses({});
      const encoder = new Encoder();
      await Promise.all([encoder.bare(["a"]), encoder.bare(["b"])]);
      await Promise.all([encoder[fixture.shout](["c"]), encoder[fixture.shout](["d"])]);
      expect(calls.map(({ items }) => items)).toEqual([
        ["a", "b"],
        ["c", "d"],
      ]);
      expect(batcherOf(encoder, fixture.shout).stats().completed).toBe(2);
    });

    test("of one instance and of no other", async () => {
      const { Encoder, calls } = fixture.makeClasses({});
      const [one, two] = [new Encoder("1"), new Encoder("2")];
      expect(await Promise.all([one.encode(["a"]), two.encode(["b"])])).toEqual([["a1"], ["b2"]]);
      expect(calls.map(({ self, items }) => [self, items])).toEqual([
        [one, ["a"]],
        [two, ["b"]],
      ]);
      batcherOf(one, "encode").configure({ maxBatchSize: 3 });
      expect(batcherOf(two, "encode").options.maxBatchSize).toBe(32);
    });

    test("and does not change how the instance looks: no property that can be listed", async () => {
      const { Encoder } = fixture.makeClasses({});
      const encoder = new Encoder();
      await encoder.encode(["a"]);
      expect(Object.keys({ ...encoder })).toEqual(["suffix"]);
      expect(Object.getOwnPropertySymbols({ ...encoder })).toEqual([]);
      expect(encoder.encode.name).toBe("encode");
      expect(encoder[fixture.shout].name).toBe("[shout]");
    });
  });

  describe("takes submit options as the second argument of a call", () => {
    test("and shows the method the context of the batch in their place", async () => {
      const { Encoder, calls } = fixture.makeClasses({});
      const encoder = new Encoder();
      await Promise.all([encoder.encode(["a"], { context: "first", priority: 2 }), encoder.encode(["b"])]);
      const { context } = calls[0] as Fixture.Call;
      expect(context).toMatchObject({ reason: "idle", cost: 2, requests: [{ context: "first", priority: 2 }, {}] });
      expect(context?.signal).toBeInstanceOf(AbortSignal);
    });

    test("`signal` takes that call's items out, and no other", async () => {
      const { Encoder, calls } = fixture.makeClasses({});
      const encoder = new Encoder();
      const leave = new AbortController();
      const gone = encoder.encode(["a"], { signal: leave.signal });
      const stays = encoder.encode(["b"], undefined);
      leave.abort("left");
      expect([await reasonOf(gone), await stays]).toEqual(["left", ["b!"]]);
      expect(calls.map(({ items }) => items)).toEqual([["b"]]);
    });

    test("`priority`, `key` and `cost` decide on its batch, `timeoutMs` on its end", async () => {
      const clock = virtualClock();
      const { Encoder, calls } = fixture.makeClasses({ clock, maxBatchCost: 4 });
      const encoder = new Encoder();
      batcherOf(encoder, "encode").pause();
      const late = watch(encoder.encode(["late"], { timeoutMs: 5 }));
      await clock.advance(5);
      expect(late).toMatchObject({ state: "rejected", reason: { code: "DEADLINE_EXCEEDED" } });
      const answers = [
        encoder.encode(["cheap"]),
        encoder.encode(["dear"], { cost: 4 }),
        encoder.encode(["other"], { key: "b" }),
        encoder.encode(["urgent"], { priority: 1 }),
      ];
      batcherOf(encoder, "encode").resume();
      await Promise.all(answers);
      expect(calls.map(({ items }) => items).sort()).toEqual([["dear"], ["other"], ["urgent", "cheap"]]);
    });
  });

  describe("has its batcher under `batcherOf`", () => {
    test("always the same one, which counts its calls and changes its limits", async () => {
      const { Encoder, calls } = fixture.makeClasses({ maxBatchSize: 4 });
      const encoder = new Encoder();
      const batcher: Batcher<string, string> = batcherOf(encoder, "encode");
      expect(batcher.options.maxBatchSize).toBe(4);
      batcher.configure({ maxBatchSize: 2 });
      await encoder.encode(["a", "b", "c"]);
      expect(calls.map(({ items }) => items)).toEqual([["a", "b"], ["c"]]);
      expect(batcher.stats()).toMatchObject({ submitted: 3, completed: 3, batches: 2 });
      expect(batcherOf(encoder, "encode")).toBe(batcher);
      expect(await batcher.submit("one")).toBe("one!");
    });

    test("which holds calls back while it is paused, and refuses them once it is closed", async () => {
      const { Encoder, calls } = fixture.makeClasses({});
      const encoder = new Encoder();
      batcherOf(encoder, "encode").pause();
      const answer = encoder.encode(["a"]);
      const closed = batcherOf(encoder, "encode").close();
      expect([await answer, await closed]).toEqual([["a!"], undefined]);
      expect(await reasonOf(encoder.encode(["b"]))).toMatchObject({ code: "CLOSED" });
      expect(calls.length).toBe(1);
    });

    test.each([
      ["a method that is not decorated", "plain"],
      ["a name that the object does not have", "encde"],
      ["a static method's name", "count"],
    ])("but not %s", (_, name) => {
      const { Encoder } = fixture.makeClasses({});
      const error = thrownBy(() => batcherOf(new Encoder(), name));
      expect(error).toBeInstanceOf(TypeError);
      expect(error).toMatchObject({ code: "INVALID_OPTION", message: expect.stringContaining(`\`${name}\``) });
    });

    test.each([[null], [undefined], ["text"], [{}], [[]], [() => {}]])(
      "but nothing of a foreign object: %j",
      (object) => {
        expect(thrownBy(() => batcherOf(object as object, "encode"))).toMatchObject({ code: "INVALID_OPTION" });
      },
    );

    test("but nothing of the class's prototype, which is no instance", () => {
      const { Encoder } = fixture.makeClasses({});
      expect(thrownBy(() => batcherOf(Encoder.prototype, "encode"))).toMatchObject({ code: "INVALID_OPTION" });
    });
  });
});
