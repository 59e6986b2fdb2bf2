/** @file The page's frame: addresses, the bar on top, the token prompt; each view fills `main`. */

import { access, setToken, unsegment } from "./api.js";
import { soon } from "./feed.js";
import { ListView } from "./list.js";
import { RunView } from "./run.js";
import { prefer, prefs } from "./text.js";
import { connection, hints, icon, iconButton, openSheet } from "./ui.js";
import { html, nothing, render } from "./vendor/lit-html.js";

const $ = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const root = document.documentElement;
const FOOT = hints(["j k=move", "Enter=open", "Esc=back", "/=search", "x=next failure", "?=all keys"]);

/** @typedef {{draw: () => void, close: () => void, located: () => void, state: () => StreamState | null, endedAt?: () => string}} View `located` tells that the address changed inside the view */
/** @typedef {typeof page} Page */

/** @type {View | undefined} */
let view;
let shown = "";
let waits = false;

/** What views ask of the page. */
const page = {
  main: $("main"),
  /** @param {string} url */
  go(url) {
    history.pushState(null, "", url);
    route();
  },
  /** Write the address without a new step back. @param {string} url */
  replace(url) {
    if (url !== location.pathname + location.search) history.replaceState(null, "", url);
  },
  /** Draw the bar on top and the view. */
  draw() {
    chrome();
    view?.draw();
  },
  /** Draw with the next frame, once for all that changes until then. */
  later() {
    if (waits) return;
    waits = true;
    soon(() => {
      waits = false;
      page.draw();
    });
  },
};

function chrome() {
  const state = view?.state();
  const zone = prefs.zone === "utc" ? "UTC" : "local time";
  const flip = () => {
    prefer("zone", prefs.zone === "utc" ? "local" : "utc");
    page.draw();
  };
  render(
    html`<a class="brand" href="/">${icon("lanes")}Runlane</a>
      <nav aria-label="Main"><a href="/" aria-current="page">Runs</a></nav>
      <span class="push"></span>${state ? connection(state, view?.endedAt?.() ?? "") : nothing}
      <button class="chip wide" type="button" @click=${flip} title="Switch between UTC and local time">${zone}</button>
      ${iconButton("Switch light and dark", "half", flipTheme, "")}
      <button class="icon wide" type="button" @click=${openSheet} aria-label="Keys"><kbd>?</kbd></button>`,
    $("top"),
  );
  render(html`${FOOT}<span class="push">Times in ${zone}</span>`, $("foot"));
}

function flipTheme() {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  prefer("theme", root.dataset.theme);
}

function route() {
  const { pathname } = location;
  if (view && pathname === shown) return view.located();
  view?.close();
  shown = pathname;
  render(nothing, page.main);
  const run = /^\/runs\/([^/]+)$/.exec(pathname);
  view = run ? new RunView(page, unsegment(run[1])) : new ListView(page);
  page.draw();
}

access.ask = () => {
  const dialog = /** @type {HTMLDialogElement} */ ($("signin"));
  const enter = (/** @type {any} */ event) => {
    event.preventDefault();
    setToken(event.target.elements.token.value.trim());
    dialog.close();
    shown = "";
    route();
  };
  render(html`<h2 id="signin-title">This gateway needs a token</h2><form @submit=${enter}><label class="field"><input name="token" type="password" autocomplete="off" required aria-label="Access token"></label><button class="btn">Continue</button></form>`, dialog);
  if (!dialog.open) dialog.showModal();
};

// Links inside the page change the view, not the document.
addEventListener("click", (event) => {
  const link = /** @type {Element} */ (event.target).closest?.("a");
  if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || link.download || link.origin !== location.origin || link.hash) return;
  event.preventDefault();
  page.go(link.pathname + link.search);
});
addEventListener("popstate", route);
// Timers move once a second, and only their digits.
setInterval(() => view?.state()?.kind !== "ended" && page.draw(), 1000);
const theme = new URLSearchParams(location.search).get("theme") ?? prefs.theme;
if (theme) root.dataset.theme = theme;
route();
