(canSend, atOnce, frozen, flat, quoted) => {
  "use strict";
  const { parse } = JSON;
  const { freeze, keys } = Object;
  const NewPromise = Promise;
  const Failure = TypeError;
  const text = String;
  const isArray = Array.isArray;
  const waiting = { __proto__: null };
  let asked = "";
  let inFlight = 0;
  let sent = 0;

  const headerPairs = (given) => {
    let pairs = "";
    const add = (name, value) => {
      pairs += (pairs ? "," : "") + "[" + quoted(text(name)) + "," + quoted(text(value)) + "]";
    };
    if (given === undefined || given === null) { return "[]"; }
    if (isArray(given)) {
      for (let index = 0; index < given.length; index++) { add(given[index][0], given[index][1]); }
    } else if (typeof given.forEach === "function") {
      given.forEach((value, name) => add(name, value));
    } else {
      const names = keys(given);
      for (let index = 0; index < names.length; index++) { add(names[index], given[names[index]]); }
    }
    return "[" + pairs + "]";
  };

  const fetch = (resource, options) => new NewPromise((resolve, reject) => {
    const given = options ?? {};
    if (canSend === 0) { throw new Failure("fetch: this code may call no host: name them in `allowHosts`"); }
    if (sent >= canSend) { throw new Failure("fetch: more than " + canSend + " requests in one call"); }
    if (inFlight >= atOnce) { throw new Failure("fetch: more than " + atOnce + " requests at once"); }
    const url = text(typeof resource === "object" && resource !== null && "url" in resource ? resource.url : resource);
    const body = given.body ?? null;
    if (body !== null && typeof body !== "string") { throw new Failure("fetch: a body is text: use JSON.stringify()"); }
    const method = text(given.method ?? "GET");
    const headers = headerPairs(given.headers);
    const id = ++sent;
    inFlight++;
    waiting[id] = [resolve, reject];
    asked += (asked ? "," : "") + '{"id":' + id + ',"url":' + quoted(url) + ',"method":' + quoted(method)
      + ',"headers":' + headers + ',"body":' + (body === null ? "null" : quoted(body)) + "}";
  });

  const headersOf = (pairs) => {
    const find = (name) => {
      const wanted = text(name).toLowerCase();
      let found = null;
      for (let index = 0; index < pairs.length; index++) {
        if (pairs[index][0].toLowerCase() === wanted) { found = (found === null ? "" : found + ", ") + pairs[index][1]; }
      }
      return found;
    };
    return freeze({
      get: find,
      has: (name) => find(name) !== null,
      forEach: (each) => { for (const [name, value] of pairs) { each(value, name); } },
      entries: () => pairs[Symbol.iterator](),
      keys: () => pairs.map((pair) => pair[0])[Symbol.iterator](),
      values: () => pairs.map((pair) => pair[1])[Symbol.iterator](),
      [Symbol.iterator]: () => pairs[Symbol.iterator](),
    });
  };

  const responseOf = ({ status, statusText, url, headers, body }) => {
    const response = {
      ok: status >= 200 && status <= 299,
      status, statusText, url, type: "basic", redirected: false,
      headers: headersOf(frozen(headers)),
      text: async () => body,
      json: async () => parse(body),
      clone: () => response,
    };
    return freeze(response);
  };

  const settle = (id, answer) => {
    const pair = waiting[id];
    if (pair === undefined) { return; }
    delete waiting[id];
    inFlight--;
    const given = parse(answer);
    if (given.error !== null) {
      pair[1](new Failure("fetch: " + given.error));
    } else {
      pair[0](responseOf(given));
    }
  };

  globalThis.fetch = fetch;

  return (verb, id, answer) => {
    switch (verb) {
      case "asked": {
        const requests = asked;
        asked = "";
        return flat(requests);
      }
      case "settle": return settle(id, answer);
      default: return inFlight;
    }
  };
}
