/** @file What the reader chose for this browser: theme and time zone. */

/** @type {Map<string, string>} */
const unsaved = new Map();

/** @param {string} key */
function get(key) {
  try {
    return localStorage.getItem(`runlane.${key}`) ?? unsaved.get(key) ?? "";
  } catch {
    return unsaved.get(key) ?? "";
  }
}

/** @param {string} key @param {string} value */
function set(key, value) {
  unsaved.set(key, value);
  try {
    localStorage.setItem(`runlane.${key}`, value);
  } catch {
    // A browser that keeps nothing still shows the page.
  }
}

let chosen = get("zone") === "local" ? "local" : "utc";

/** @returns {string} `utc` or `local` */
export const zone = () => chosen;

export function switchZone() {
  chosen = chosen === "utc" ? "local" : "utc";
  set("zone", chosen);
}

const root = document.documentElement;

export function applyTheme() {
  const asked = new URLSearchParams(location.search).get("theme") ?? get("theme");
  if (asked === "light" || asked === "dark") root.dataset.theme = asked;
}

export function switchTheme() {
  const dark = getComputedStyle(root).colorScheme === "dark" || (!root.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  root.dataset.theme = dark ? "light" : "dark";
  set("theme", root.dataset.theme);
}
