import { describe, expect, test } from "vitest";
import { decodeReason, encodeReason } from "../../src/threads/encode-reason.ts";

interface Parts extends Error {
  readonly errors: readonly Error[];
}

/** As it arrives in another thread. */
function arrived(reason: unknown): Parts {
  return decodeReason(structuredClone(encodeReason(reason))) as Parts;
}

function withParts(count: number, cause?: (parent: Error) => Error): Error {
  const parent = new Error("all failed");
  const errors = Array.from({ length: count }, (_, row) => new Error(`row ${row}`, { cause: cause?.(parent) }));
  return Object.assign(parent, { errors });
}

describe("an error sent between threads", () => {
  test("whose parts name it as their cause is encoded once", () => {
    // Without a record of encoded parts, 40 parts to a depth of 8 are 40 ** 4 errors.
    const error = arrived(withParts(40, (parent) => parent));
    expect(error.errors).toHaveLength(40);
    expect(error.errors[39]?.message).toBe("row 39");
    expect(error.errors[39]?.cause).toBeUndefined();
  });

  test("that is all of its own parts loses these", () => {
    const error = new AggregateError([], "all failed");
    error.errors = Array.from({ length: 6 }, () => error);
    expect(arrived(error)).toMatchObject({ message: "all failed", errors: [] });
  });

  test("keeps a cause that its parts share, as one object", () => {
    const refused = new TypeError("refused");
    const { errors } = arrived(withParts(3, () => refused));
    expect(errors[0]?.cause).toMatchObject({ name: "TypeError", message: "refused" });
    expect(errors[2]?.cause).toBe(errors[0]?.cause);
  });

  test("keeps 100 errors, of thousands of parts and of getters that make new ones each time", () => {
    expect(arrived(withParts(5000)).errors).toHaveLength(99);
    expect(arrived(Object.assign(new Error("all"), { errors: new Array(1e6).fill(1) })).errors).toHaveLength(99);
    const endless = (): Error =>
      Object.defineProperty(new Error("endless"), "errors", { get: () => Array.from({ length: 20 }, endless) });
    expect(JSON.stringify(encodeReason(endless())).match(/"message":"endless"/g)).toHaveLength(100);
  });

  test("keeps eight causes of a chain", () => {
    let chain = new Error("0");
    for (let index = 1; index < 20; index += 1) chain = new Error(String(index), { cause: chain });
    const messages: string[] = [];
    for (let error: unknown = arrived(chain); error instanceof Error; error = error.cause) messages.push(error.message);
    expect(messages).toEqual(["19", "18", "17", "16", "15", "14", "13", "12", "11"]);
  });

  test("arrives though a property of it can be cloned only once", () => {
    let reads = 0;
    const details = {
      get odd() {
        reads += 1;
        return reads === 1 ? 1 : () => {};
      },
    };
    expect(arrived(Object.assign(new Error("odd"), { details }))).toMatchObject({
      message: "odd",
      details: { odd: 1 },
    });
  });

  test("arrives though its `errors` cannot be read", () => {
    const broken = Object.defineProperty(new Error("broken"), "errors", {
      get: () => {
        throw new Error("no");
      },
    });
    expect(arrived(broken).message).toContain("An error that cannot be read");
  });
});
