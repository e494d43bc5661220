// The recipes over databases and for GraphQL: real Postgres, with the real ORMs, and the statements
// counted.

import { PrismaPg } from "@prisma/adapter-pg";
import { drizzle } from "drizzle-orm/node-postgres";
import type { ExecutionResult } from "graphql";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { postgresPlace } from "../../../../packages/batchwise/test/integration/services/kept.ts";
import { importPrismaClient, importRecipe } from "./import-recipe.ts";

/**
 * A pool in an empty schema with these tables, and the texts of the statements that go through it.
 */
async function database(tables: string): Promise<{ pool: pg.Pool; schema: string; statements: string[] }> {
  const place = await postgresPlace();
  const statements: string[] = [];
  class Client extends pg.Client {
    override query(...args: unknown[]): never {
      const [query] = args as [string | { text: string }];
      statements.push(typeof query === "string" ? query : query.text);
      return Reflect.apply(super.query, this, args) as never;
    }
  }
  const pool = new pg.Pool({ ...place, Client: Client as never });
  onTestFinished(() => pool.end());
  await pool.query(tables);
  statements.length = 0;
  return { pool, schema: place.application_name, statements };
}

const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
const range = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

describe("the recipe for rows into Postgres", () => {
  type Visit = { id: string; page: string; at: Date };
  type Recipe = { visitLog(pool: pg.Pool): (visit: Visit) => Promise<void> };
  const table =
    "CREATE TABLE visit (id uuid PRIMARY KEY, page text NOT NULL CHECK (page <> ''), at timestamptz NOT NULL)";
  const visits = range(300).map((n) => ({ id: uuid(n), page: n === 77 ? "" : `/${n}`, at: new Date(n) }));

  test("inserts many rows by few statements, and a row that breaks a constraint fails its own caller", async () => {
    const { pool, statements } = await database(table);
    const log = (await importRecipe<Recipe>("Rows into Postgres")).visitLog(pool);
    const settled = await Promise.allSettled(visits.map((visit) => log(visit)));
    const failed = settled.flatMap((result, n) => (result.status === "rejected" ? [[n, result.reason.code]] : []));
    expect(failed).toEqual([[77, "23514"]]);
    expect(statements.length).toBeLessThan(40);
    const { rows } = await pool.query("SELECT count(*)::int AS rows, max(page) AS last FROM visit");
    expect(rows).toEqual([{ rows: 299, last: "/99" }]);
  });

  test("inserts no row twice when the connection breaks after a commit", async () => {
    const { pool } = await database(table);
    const breaks = { query: breaksOnce(pool) } as pg.Pool;
    const log = (await importRecipe<Recipe>("Rows into Postgres")).visitLog(breaks);
    await Promise.all(visits.slice(0, 50).map((visit) => log(visit)));
    expect((await pool.query("SELECT count(*)::int AS rows FROM visit")).rows).toEqual([{ rows: 50 }]);
  });

  function breaksOnce(pool: pg.Pool): (text: string, values: unknown[]) => Promise<unknown> {
    let broken = false;
    return async (text, values) => {
      const result = await pool.query(text, values);
      if (broken) return result;
      broken = true;
      throw new Error("Connection terminated unexpectedly");
    };
  }
});

interface Author {
  readonly id: string;
  readonly name: string;
}

const authors = "CREATE TABLE author (id text PRIMARY KEY, name text NOT NULL)";
const insertAuthors = "INSERT INTO author VALUES ('2', 'Grace'), ('1', 'Ada')";

describe("the recipe for Drizzle", () => {
  test("reads once for many callers, and gives null for missing rows", async () => {
    const { pool, statements } = await database(`${authors}; ${insertAuthors}`);
    type Recipe = { authorLoader(db: ReturnType<typeof drizzle>): (id: string) => Promise<Author | null> };
    const load = (await importRecipe<Recipe>("Drizzle")).authorLoader(drizzle(pool));
    const found = await Promise.all(["1", "2", "9", "1"].map((id) => load(id)));
    expect(found.map((row) => row?.name)).toEqual(["Ada", "Grace", undefined, "Ada"]);
    expect(statements).toEqual([expect.stringMatching(/^select .* where "author"."id" in \(\$1, \$2, \$3\)$/)]);
    await pool.query("DROP TABLE author");
    const reason = await load("1").catch((error: unknown) => error);
    expect(reason).toMatchObject({ cause: { code: "42P01" } });
  });
});

describe("the recipe for Prisma", () => {
  test("loads the rows of many parents by one findMany of the generated client", async () => {
    const { pool, schema, statements } = await database(
      `CREATE TABLE book (id text PRIMARY KEY, title text NOT NULL, "authorId" text NOT NULL);
       INSERT INTO book VALUES ('a', 'Notes', '1'), ('b', 'Engines', '1'), ('c', 'Compilers', '2')`,
    );
    type Book = { readonly title: string };
    type One = { where: { id: string } };
    type Client = { $disconnect(): Promise<void>; book: { findUnique(one: One): Promise<Book | null> } };
    type Prisma = { PrismaClient: new (options: { adapter: PrismaPg }) => Client };
    const { PrismaClient } = await importPrismaClient<Prisma>();
    const prisma = new PrismaClient({ adapter: new PrismaPg(pool, { schema }) });
    onTestFinished(() => prisma.$disconnect());
    type Recipe = { booksOfAuthor(prisma: Client): (id: string) => Promise<readonly Book[]> };
    const load = (await importRecipe<Recipe>("Prisma")).booksOfAuthor(prisma);
    const shelves = await Promise.all(["1", "2", "9", "1"].map((id) => load(id)));
    const titles = shelves.map((books) => books.map(({ title }) => title));
    expect(titles).toEqual([["Engines", "Notes"], ["Compilers"], [], ["Engines", "Notes"]]);
    expect(statements.filter((text) => text.includes("book"))).toEqual([expect.stringContaining("IN ($1,$2,$3)")]);
    statements.length = 0;
    await Promise.all(["a", "b"].map((id) => prisma.book.findUnique({ where: { id } })));
    expect(statements.filter((text) => text.includes("book")).length).toBe(1);
  });
});

describe("the recipe for GraphQL", () => {
  type Recipe = { answer(source: string, find: (ids: string[]) => Promise<Author[]>): Promise<ExecutionResult> };

  test("reads the authors of all books of a request once, and again in the next request", async () => {
    const { pool } = await database(`${authors}; ${insertAuthors}`);
    const asked: string[][] = [];
    const find = async (ids: string[]): Promise<Author[]> => {
      asked.push(ids);
      return (await pool.query("SELECT * FROM author WHERE id = ANY($1)", [ids])).rows;
    };
    const { answer } = await importRecipe<Recipe>("GraphQL");
    const { data, errors } = await answer("{ books { title author { name } } }", find);
    const names = (data as { books: { author: Author | null }[] }).books.map(({ author }) => author?.name);
    expect(names).toEqual(["Ada", "Grace", "Ada", undefined]);
    expect(errors?.map(({ path, message }) => [path?.join("."), message])).toEqual([
      ["books.3.author", "There is no author 9."],
    ]);
    expect(asked).toEqual([["1", "2", "9"]]);
    await answer("{ books { a: author { name } b: author { name } } }", find);
    expect(asked.length).toBe(2);
  });

  test("fails only the fields when the database does", async () => {
    const { answer } = await importRecipe<Recipe>("GraphQL");
    const { data, errors } = await answer("{ books { title author { name } } }", () =>
      Promise.reject(new Error("gone")),
    );
    expect(data).toMatchObject({ books: [{ title: "Notes", author: null }, {}, {}, {}] });
    expect(errors?.length).toBe(4);
  });
});
