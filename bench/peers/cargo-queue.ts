/**
 * async.cargoQueue. It has slots and fills a batch while they are busy, but gives all items of a
 * batch the same answer, so each item carries its own resolvers. Tasks get an empty callback:
 * without one it makes a second promise.
 */
import { cargoQueue as createCargoQueue } from "async";
import type { Handler, Loader, Shape } from "./contract.ts";

interface Task {
  readonly value: number;
  readonly resolve: (result: number) => void;
  readonly reject: (error: unknown) => void;
}

const ignore = (): void => {};

export function cargoQueue(handler: Handler, shape: Shape): Loader {
  const queue = createCargoQueue<Task>(
    (tasks, done) => {
      handler(tasks.map((task) => task.value)).then(
        (results) => {
          for (let at = 0; at < tasks.length; at += 1) tasks[at]?.resolve(results[at] as number);
          done();
        },
        (error: unknown) => {
          for (const task of tasks) task.reject(error);
          done();
        },
      );
    },
    shape.slots,
    shape.maxBatchSize,
  );
  return {
    load: (value) =>
      new Promise((resolve, reject) => {
        queue.push({ value, resolve, reject }, ignore);
      }),
  };
}
