/** For `--import`: keeps the model's threads from lowering their priority when they start. */
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";

os.setPriority = () => undefined;
syncBuiltinESMExports();
