import type { components, paths } from "./schema";

/** The shapes of answers by name: `Shape<"InstanceItem">`. */
export type Shape<Name extends keyof components["schemas"]> = components["schemas"][Name];

export type Method = "get" | "post" | "put" | "delete";
export type PathsOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, { responses: unknown }> ? P : never;
}[keyof paths];

type OperationOf<P extends keyof paths, M extends Method> = paths[P] extends Record<M, infer O> ? O : never;

/** The parameters of an operation, without those that it does not have: `{path: {id}, query?: {…}}`. */
export type Params<P extends keyof paths, M extends Method> =
  OperationOf<P, M> extends { parameters: infer All } ? Pick<All, Extract<keyof All, Present<All>>> : object;
type Present<All> = { [K in keyof All]-?: [NonNullable<All[K]>] extends [never] ? never : K }[keyof All];

export type BodyOf<P extends keyof paths, M extends Method> =
  OperationOf<P, M> extends { requestBody?: { content: { "application/json": infer B } } } ? B : undefined;

type Contents<R> = {
  [S in keyof R]: R[S] extends { content: { "application/json": infer B } } ? B : never;
}[keyof R];
/** What an operation answers. */
export type Answer<P extends keyof paths, M extends Method> =
  OperationOf<P, M> extends { responses: infer R } ? Contents<R> : never;

/** The paths that answer with pages, and what their items are. */
export type ListPath = {
  [P in PathsOf<"get">]: Answer<P, "get"> extends { items: unknown[]; nextCursor: string | null } ? P : never;
}[PathsOf<"get">];
export type Item<P extends ListPath> = Answer<P, "get"> extends { items: (infer T)[] } ? T : never;

/** An argument that may be left out where nothing in it is required. */
export type Maybe<T> = object extends T ? [given?: T] : [given: T];
