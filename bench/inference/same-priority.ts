/**
 * For `--import`: takes the lower priority from the model's threads, which a worker thread asks for
 * at its start.
 */
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";

os.setPriority = () => undefined;
syncBuiltinESMExports();
