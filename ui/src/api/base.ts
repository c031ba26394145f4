/** The path under which the service is reached, without a slash at its end: "" or "/tools/tenuto".
 *
 * The service writes it into `<base href>`, so that the same files work at any path. */
export const basePath: string =
  typeof document === "undefined" ? "" : new URL(document.baseURI).pathname.replace(/\/[^/]*$/, "");

/** The address of the live socket. */
export function socketUrl(): string {
  const url = new URL(`${basePath}/ws`, window.location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url.href;
}
