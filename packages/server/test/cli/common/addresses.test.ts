// Addresses that contain passwords, and the command's other secrets.

import { expect, test } from "vitest";
import { webAddress } from "../../../src/cli/accounts/account-flags.ts";
import { addressOf, passwordsOf, splitSchema, withoutPassword } from "../../../src/cli/common/addresses.ts";
import { withoutSecrets } from "../../../src/cli/common/secrets.ts";

const PASSWORD = "p@ss:w/rd?0123456";

test.each(["postgres", "Postgres", "POSTGRESQL", "my_db", "redis6", "rediss", "git+ssh", "a.b-c"])(
  "the password of %s:// is left out, whatever is in it",
  (scheme) => {
    const address = `${scheme}://me:${PASSWORD}@host/db`;
    for (const text of [address, `--store=${address}`]) {
      expect(withoutPassword(text)).toBe(text.replace(PASSWORD, "…").replace(scheme, scheme.toLowerCase()));
      expect(passwordsOf(text)).toContain(PASSWORD);
    }
    expect(addressOf(address)).toEqual({
      scheme: scheme.toLowerCase(),
      user: "me",
      password: PASSWORD,
      rest: "host/db",
    });
  },
);

test("passwords in the query are blanked, and a text that is no address stays", () => {
  expect(withoutPassword("postgres://host/db?user=me&password=pw&sslpassword=pv&ssl=1#a")).toBe(
    "postgres://host/db?user=me&password=…&sslpassword=…&ssl=1#a",
  );
  for (const text of ["in@home:2.jsonl", "sqlite:a.db", "a=b://c", "--base-url=x"]) {
    expect(withoutPassword(text)).toBe(text);
  }
  expect(passwordsOf("redis://:a%40b@host")).toEqual(["a%40b", "a@b"]);
});

test.each([
  ["postgres://a?b:c?schema=d@host/db", "postgres://a?b:c?schema=d@host/db", null],
  ["postgres://host/db?schema=a%22%20b", "postgres://host/db", 'a" b'],
  ["postgres://host/db?schema=a+b&ssl=1#x", "postgres://host/db?ssl=1#x", "a b"],
  ["postgres://host/db?ssl=1&schema=a&user=b", "postgres://host/db?ssl=1&user=b", "a"],
  ["postgres://host/db?ssl=1&schema=a", "postgres://host/db?ssl=1", "a"],
  ["postgres://host/db?the_schema=a&schema=", "postgres://host/db?the_schema=a", null],
])("the schema of %s is taken out of its query", (address, without, schema) => {
  expect(splitSchema(address)).toEqual([without, schema]);
});

test("an address of a provider is http or https, without a user and a password, and refused without quoting them", () => {
  expect(webAddress("--base-url", "https://host/v1")).toBe("https://host/v1");
  const bad = [
    `https://me:${PASSWORD}@host/v1`,
    `ftp://me:${PASSWORD}@host`,
    "https://token0123456789@host",
    `x://:${PASSWORD}@`,
  ];
  for (const address of bad) {
    expect(() => webAddress("--base-url", address)).toThrow(/Expected --base-url to be an http or https address/);
    expect(() => webAddress("--base-url", address)).not.toThrow(/rd\?0123456|token0123456789/);
  }
});

test("keys of the environment and passwords of the arguments are blanked in messages", () => {
  const environment = {
    OPENAI_API_KEY: " sk-0123456789ab ",
    BATCHWISE_STORE: "redis://:redis-0123456@h",
    HOME: "/home/someone",
  };
  const words = ["run", "--store=postgres://me:pg%20-0123456789@host/db"];
  const text = "sk-0123456789ab redis-0123456 pg%20-0123456789 pg -0123456789 /home/someone";
  expect(withoutSecrets(text, environment, words)).toBe("[secret] [secret] [secret] [secret] /home/someone");
  const broken = { MISTRAL_API_KEY: "first-line-0123\n second-line-0123" };
  expect(withoutSecrets("first-line-0123", broken, [])).toBe("[secret]");
  expect(withoutSecrets("second-line-0123", broken, [])).toBe("[secret]");
  expect(withoutSecrets("practice", { OPENAI_API_KEY: "practice" }, [])).toBe("practice");
});
