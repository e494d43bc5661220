import { expect, test } from "vitest";
import { filesMatching, textOf } from "../repository.ts";

const page = textOf("docs/architecture.md");
const files = filesMatching("packages/*/{src,test,prove}/**/*.ts", "scripts/**/*.ts", "bench/**/*.ts");
const tree = page.slice(page.indexOf("## Where things are"), page.indexOf("## Rules"));

/** Whether a path of the page, such as `queue/lane.ts` or `script-*.ts`, names a file. */
function namesOne(path: string): boolean {
  const pattern = path.replaceAll(/[.+?^$()|[\]\\]/g, "\\$&").replaceAll("*", "[^/]*");
  const end = new RegExp(`/${pattern.replaceAll(/<[a-z]+>/g, "[^/]+")}$`);
  return files.some((file) => end.test(`/${file}`));
}

test("the page names no file that is not there", () => {
  const named = [...page.matchAll(/`(?<path>[\w*<][\w<>*/.-]*\.ts)`/g)].map(({ groups }) => groups?.path ?? "");
  expect(named.length).toBeGreaterThan(100);
  expect(named.filter((path) => !namesOne(path))).toEqual([]);
});

test("the page's tree has a line for each folder of the library, of its engine and of its dispatcher", () => {
  const folders = files
    .map(
      (file) => /^packages\/batchwise\/src\/((core|dispatch)\/)?(?<folder>[a-z-]+)\//.exec(file)?.groups?.folder ?? "",
    )
    .filter((folder) => folder !== "");
  expect(folders.length).toBeGreaterThan(500);
  const missing = [...new Set(folders)].filter((folder) => !new RegExp(`^ +${folder}/ `, "m").test(tree));
  expect(missing).toEqual([]);
});
