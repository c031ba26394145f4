(() => {
  "use strict";
  const { parse, stringify } = JSON;
  const { freeze, values, prototype: { toString: classOf } } = Object;
  const { apply } = Reflect;
  const { then } = Promise.prototype;
  const { call } = Function.prototype;
  const NewPromise = Promise;
  const Failure = TypeError;
  const text = String;
  const evaluate = eval;
  const MapType = Map, SetType = Set, ErrorType = Error, isArray = Array.isArray;
  const now = Date.now;
  const clip = call.bind("".slice);
  const has = call.bind({}.hasOwnProperty);
  const join = call.bind([].join);
  const wellFormed = call.bind("".toWellFormed);
  const flat = (long) => join([long], "");
  const quoted = (line) => stringify(wellFormed(line));

  let state = "";
  let said = "";
  let lines = "";
  let began = 0;
  let room = 0;
  let dropped = 0;
  let most = 0;
  let requests = null;

  const frozen = (root) => {
    if (typeof root !== "object" || root === null) { return root; }
    const open = [root];
    let count = 1;
    while (count > 0) {
      const held = values(freeze(open[--count]));
      for (let index = 0; index < held.length; index++) {
        const each = held[index];
        if (typeof each === "object" && each !== null) { open[count++] = each; }
      }
    }
    return root;
  };

  const described = (error) => {
    let name = "", message, stack = "";
    try {
      if (error instanceof ErrorType || (typeof error === "object" && error !== null && has(error, "message"))) {
        name = clip(text(error.name ?? ""), 0, 200);
        message = clip(text(error.message), 0, 4000);
        stack = clip(text(error.stack ?? ""), 0, 4000);
      } else {
        message = clip(shown(error), 0, 4000);
      }
    } catch {
      message = "what was thrown has no text";
    }
    return "[" + quoted(name) + "," + quoted(message) + "," + quoted(stack) + "]";
  };

  const shown = (value) => {
    switch (typeof value) {
      case "string": return value;
      case "bigint": return text(value) + "n";
      case "function": return "[function " + text(value.name) + "]";
      case "object":
        if (value === null) { return "null"; }
        try {
          if (value instanceof ErrorType) { return text(value.name) + ": " + text(value.message); }
          return stringify(value) ?? apply(classOf, value, []);
        } catch {
          return apply(classOf, value, []);
        }
      default: return text(value);
    }
  };

  const unfit = { __proto__: null, found: "" };
  const places = [];
  const holders = [];
  const where = (depth, key) => {
    let path = "$";
    for (let index = 1; index < depth; index++) { path += step(holders[index - 1], places[index]); }
    return path + (depth > 0 ? step(holders[depth - 1], key) : "");
  };
  const step = (holder, key) => isArray(holder) ? "[" + key + "]" : "." + clip(text(key), 0, 100);

  const resultText = (value) => {
    if (value === undefined) { return "null"; }
    let depth = 0;
    unfit.found = "";
    function check(key, each) {
      while (depth > 0 && holders[depth - 1] !== this) { depth--; }
      let found = "";
      switch (typeof each) {
        case "function": found = "a function"; break;
        case "symbol": found = "a symbol"; break;
        case "bigint": found = "a BigInt, which JSON cannot carry: use Number() or String()"; break;
        case "number":
          if (each !== each || each === Infinity || each === -Infinity) { found = text(each) + ", which JSON cannot carry"; }
          break;
        case "object":
          if (each === null) { break; }
          if (each instanceof MapType) { found = "a Map: use Object.fromEntries()"; break; }
          if (each instanceof SetType) { found = "a Set: use Array.from()"; break; }
          if (each instanceof NewPromise) { found = "a promise: await it"; break; }
          for (let index = 0; index < depth; index++) {
            if (holders[index] === each) { found = "a part of itself (a cycle)"; }
          }
          if (depth >= 100) { found = "nested more than 100 deep"; }
          break;
        default: break;
      }
      if (found !== "") {
        unfit.found = wellFormed(where(depth, key) + " is " + found);
        throw unfit;
      }
      if (typeof each === "object" && each !== null) {
        places[depth] = key;
        holders[depth++] = each;
      }
      return each;
    }
    return stringify(value, check);
  };

  const finish = (value) => {
    let json;
    try {
      json = resultText(value);
      if (json === undefined) { json = "null"; }
    } catch (error) {
      if (error !== unfit) { return fail(error); }
      said = unfit.found;
      state = "unfit";
      return;
    }
    said = json.length > most ? text(json.length) : json;
    state = json.length > most ? "large" : "value";
  };
  const fail = (error) => {
    said = error === null ? "" : described(error);
    state = "thrown";
  };

  const printer = (level) => (...values) => {
    let line = "";
    for (let index = 0; index < values.length; index++) { line += (index ? " " : "") + shown(values[index]); }
    if (room <= 0) { dropped++; return; }
    if (line.length > room) { line = clip(line, 0, room) + "…"; }
    room -= line.length + 1;
    lines += (lines ? "," : "") + "[" + stringify(level) + "," + (now() - began) + "," + quoted(line) + "]";
  };
  const console = {
    log: printer("info"), info: printer("info"), warn: printer("warning"), error: printer("error"),
    debug: printer("debug"), trace: printer("debug"), dir: printer("info"), table: printer("info"),
  };

  const begin = (code, ctx, input, steps, output, consoleRoom, fetches, atOnce, fetchSource) => {
    most = output;
    room = consoleRoom;
    if (fetches > 0) { requests = evaluate(fetchSource)(fetches, atOnce, frozen, flat, quoted); }
    began = now();
    let body;
    const given = [frozen(parse(ctx)), frozen(parse(input)), frozen(parse(steps))];
    try {
      body = evaluate('"use strict"; (async function anonymous(ctx, input, steps) {\n' + code + "\n})");
    } catch (error) {
      said = described(error);
      state = "syntax";
      return;
    }
    apply(then, apply(body, undefined, given), [finish, fail]);
  };

  const unparsable = (source) => {
    try {
      evaluate('"use strict"; throw null; ' + source);
    } catch (error) {
      return error === null ? "" : flat(described(error));
    }
    return '["SyntaxError","the code cannot be read",""]';
  };

  const check = (code) => {
    const problem = unparsable("(async function (ctx, input, steps) {\n" + code + "\n})");
    if (problem !== "") { return problem; }
    if (unparsable("(class { static async body(ctx, input, steps) {\n" + code + "\n} })") !== "") {
      return '["SyntaxError","the code closes the function that it is the body of",""]';
    }
    return "";
  };

  globalThis.console = console;
  globalThis.fetch = async () => {
    throw new Failure("fetch is not allowed here: the step names no allowHosts");
  };

  return (verb, ...given) => {
    switch (verb) {
      case "begin": return begin(...given);
      case "state": return state;
      case "said": return flat(said);
      case "lines": return flat(lines);
      case "asked": case "settle": case "waits":
        return requests === null ? 0 : requests(verb, given[0], given[1]);
      case "dropped": return dropped;
      case "check": return check(given[0]);
      default: return null;
    }
  };
})()
