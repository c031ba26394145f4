import { Copy } from "lucide-react";

import { basePath } from "../api/base";
import { useMe } from "../api/me";
import { asCommand, asCurl, asPython, type Action, type Place } from "../core/commands";
import { Button } from "./Button";
import { copyText } from "./CopyButton";
import { Menu } from "./Menu";
import { toast } from "./toast";

/** Copies what a page would do, to be done elsewhere. Keys are only named. */
export function CopyAs({ action, link }: { action: Action; /** The address at which the page shows the same. */ link?: string }) {
  const me = useMe();
  const place: Place = { url: `${window.location.origin}${basePath}`, needsKey: me?.signIn.isRequired ?? false };
  const copy = (name: string, text: string) => async () => {
    const isCopied = await copyText(text);
    toast(isCopied ? { text: `Copied as ${name}` } : { text: "The browser did not allow copying.", tone: "red" });
  };
  const items = [
    { label: "curl", onSelect: copy("curl", asCurl(action, place)) },
    { label: "Command line", onSelect: copy("a command line", asCommand(action, place)) },
    { label: "Python", onSelect: copy("Python", asPython(action, place)) },
    ...(link === undefined ? [] : [null, { label: "Link to this form", onSelect: copy("a link", `${place.url}${link}`) }]),
  ];
  return <Menu label="Copy as" trigger={<Button icon={<Copy />}>Copy as</Button>} items={items.map((item) => item && { ...item, onSelect: () => void item.onSelect() })} />;
}
