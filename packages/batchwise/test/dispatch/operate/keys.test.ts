import { expect, test } from "vitest";
import type { Dispatcher } from "../../../src/dispatch/contract/dispatcher.ts";
import { SimProvider } from "../support/simulation/sim-provider.ts";
import { world } from "../support/world.ts";

async function started(): Promise<Dispatcher> {
  const { time, start } = world();
  return start({ accounts: [new SimProvider({ time }).account()] });
}

test("invalid keys are refused with the expected and the actual value", async () => {
  const dispatcher = await started();
  for (const method of ["requeue", "resume"] as const) {
    const refused = (keys: unknown) => expect(dispatcher[method](keys as string)).rejects;
    await refused(undefined).toThrow("Expected `keys` to be a key or an array of keys, got `undefined`");
    await refused({ keys: ["a"] }).toMatchObject({ code: "INVALID_OPTION" });
    await refused([5]).toThrow("Expected `keys` to be a string, got `5` (number)");
  }
  const abandon: (key: string, options?: object) => Promise<number> = dispatcher.abandon.bind(dispatcher) as never;
  await expect(abandon("a")).rejects.toMatchObject({ code: "INVALID_OPTION" });
  await expect(abandon("a")).rejects.toThrow('Expected `requests` to be "end" or "requeue", got `undefined`');
  await dispatcher.stop();
});

test("after the stop they reject as every other call does, and throw nothing", async () => {
  const dispatcher = await started();
  await dispatcher.stop();
  await expect(dispatcher.requeue("a")).rejects.toMatchObject({ code: "CLOSED" });
  await expect(dispatcher.resume("a")).rejects.toMatchObject({ code: "CLOSED" });
});
