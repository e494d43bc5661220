// Run by npm after every install. Several releases of Node.js and of TypeScript are installed for the tests, under other
// names, and each brings a command `node` or `tsc`: this makes sure that npm scripts get those that they are written
// for. JavaScript, because it may be an older Node.js that runs it.

import { existsSync, rmSync, symlinkSync } from "node:fs";

const commands = { node: "../node/bin/node", tsc: "../typescript/bin/tsc" };

for (const [name, target] of Object.entries(commands)) {
  const link = `node_modules/.bin/${name}`;
  if (process.platform !== "linux" || !existsSync(`node_modules/.bin/${target}`)) continue;
  rmSync(link, { force: true });
  symlinkSync(target, link);
}
