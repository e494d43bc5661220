import Anthropic from "@anthropic-ai/sdk";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { fakeProvider } from "batchwise/dispatch/testing";
import { virtualClock } from "batchwise/testing";
import { expect, test } from "vitest";
import { inputOf } from "../account-suite.ts";

const call = { signal: new AbortController().signal, timeoutMs: 10_000 };
const HOUR = 3_600_000;

test("betas, workspace and user profile travel in the headers in which the SDK sends them", async () => {
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const fake = fakeProvider({ clock });
  const seen: (string | null)[][] = [];
  const client = new Anthropic({
    apiKey: "key",
    baseURL: "http://fake.test",
    fetch: (url, init) => {
      const { headers } = new Request("http://fake.test", { headers: init?.headers ?? {} });
      const names = ["anthropic-beta", "anthropic-workspace-id", "anthropic-user-profile-id"];
      seen.push([init?.method ?? "get", ...names.map((name) => headers.get(name))]);
      return fake.fetch(url, init);
    },
  });
  const ids = { workspaceId: "wrkspc_1", userProfileId: "profile_1" };
  const account = anthropicAccount({ client, betas: ["a-beta", "b-beta"], ...ids });
  const body = '{"model":"m","messages":[{"role":"user","content":"Hi"}]}';
  const input = inputOf([account.encodeLine({ customId: "a", endpoint: "/v1/chat/completions", body })]);
  const name = { key: "01JD3K9V7QX2ABCDEFGHJKMNPQ", attempt: 1, endpoint: "/v1/chat/completions", model: "m" };
  const created = await account.create({ ...name, input, firstBody: async () => body }, call);
  await account.list({ cursor: null, limit: 10 }, call);
  await clock.advance(HOUR);
  const ended = await account.retrieve(created.id, call);
  expect(ended?.state).toBe("done");
  for await (const line of account.results(ended as typeof created, call, name)) expect(line.customId).toBe("a");
  await account.cancel(created.id, call);
  const [first, ...rest] = seen;
  expect(first).toEqual(["POST", "a-beta,b-beta", "wrkspc_1", "profile_1"]);
  expect(rest.length).toBeGreaterThan(4);
  expect(new Set(rest.map(([, ...headers]) => headers.join()))).toEqual(new Set(["a-beta,b-beta,wrkspc_1,"]));
});

test("an unknown option is refused in words", () => {
  const client = new Anthropic({ apiKey: "key" });
  expect(() => anthropicAccount({ client, betas: [7 as never] })).toThrow("Expected `betas` to be a string");
  expect(() => anthropicAccount({ client, workspaceId: 7 as never })).toThrow("Expected `workspaceId` to be a string");
  const bare = { messages: client.messages };
  expect(anthropicAccount({ client: bare }).name).toBe("anthropic");
  expect(() => anthropicAccount({ client: bare, betas: ["a"] })).toThrow("Expected `client.beta` to be an object");
});
