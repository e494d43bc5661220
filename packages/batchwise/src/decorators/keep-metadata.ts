// Copies the marks of other decorators from a method to the function that replaces it: own
// properties, length, and metadata of `Reflect.defineMetadata` if the program has loaded that.

interface ReflectMetadata {
  getOwnMetadataKeys?(target: object): unknown[];
  getOwnMetadata?(key: unknown, target: object): unknown;
  defineMetadata?(key: unknown, value: unknown, target: object): void;
}

/** Own properties that every function has. */
const OF_FUNCTIONS: readonly PropertyKey[] = ["name", "prototype", "arguments", "caller"];

export function keepMetadata(method: object, replacement: object): void {
  for (const key of Reflect.ownKeys(method)) {
    const descriptor = Reflect.getOwnPropertyDescriptor(method, key);
    if (descriptor !== undefined && !OF_FUNCTIONS.includes(key)) Reflect.defineProperty(replacement, key, descriptor);
  }
  const { getOwnMetadataKeys, getOwnMetadata, defineMetadata } = Reflect as ReflectMetadata;
  for (const key of getOwnMetadataKeys?.(method) ?? []) {
    defineMetadata?.(key, getOwnMetadata?.(key, method), replacement);
  }
}
