/** @file The page's frame: addresses, the bar on top, the token prompt; each view fills `main`. */

import { onUnauthorized, setToken, unsegment } from "./lib/api.js";
import { listen, openSheet } from "./lib/keys.js";
import { connection, icon } from "./lib/parts.js";
import { applyTheme, switchTheme, switchZone, zone } from "./lib/prefs.js";
import { html, nothing, render } from "./vendor/lit-html.js";
import { AgentsView } from "./views/agents.js";
import { ListView } from "./views/list.js";
import { RunView } from "./views/run.js";
import { SessionsView } from "./views/sessions.js";

const $ = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * @typedef {object} View
 * @property {() => void} draw
 * @property {() => void} close
 * @property {() => void} located the address changed inside the view
 * @property {() => StreamState | null} state
 * @property {() => string} [endedAt]
 * @property {string} nav
 * @property {unknown} foot
 */

/** @type {View | undefined} */
let view;
let shownPath = "";

/** What views ask of the page. */
export const page = {
  /** @param {string} url */
  go(url) {
    history.pushState(null, "", url);
    route();
  },
  /** Write the address without a new step back. @param {string} url */
  replace(url) {
    if (url !== location.pathname + location.search) history.replaceState(null, "", url);
  },
  chrome: drawChrome,
  main: $("main"),
};

function drawChrome() {
  const state = view?.state();
  render(
    html`<a class="brand" href="/"><svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true"><path d="M0 2h10v3H0zM3 6.5h13v3H3zM1 11h8v3H1z"/></svg>Runlane</a>
      <nav aria-label="Main">
        ${[["Runs", "/"], ["Sessions", "/sessions"], ["Agents", "/agents"]].map(
          ([name, href], i) => html`<a href=${href} class=${i ? "wide" : ""} aria-current=${view?.nav === name ? "page" : nothing}>${name}</a>`,
        )}
      </nav>
      <span class="push"></span>
      ${state ? connection(state, Date.now(), view?.endedAt?.()) : nothing}
      <button class="chip wide" type="button" @click=${flipZone} aria-label="Times in ${zone() === "utc" ? "UTC, show local" : "local time, show UTC"}">${zone() === "utc" ? "UTC" : "Local"}</button>
      <button class="icon" type="button" @click=${switchTheme} aria-label="Switch light and dark">${icon("theme")}</button>
      <button class="icon wide" type="button" @click=${openSheet} aria-label="Keyboard shortcuts"><kbd>?</kbd></button>`,
    $("top"),
  );
  render(html`${view?.foot ?? nothing}<span class="push">Times in ${zone() === "utc" ? "UTC" : "local time"}</span>`, $("foot"));
}

function flipZone() {
  switchZone();
  drawChrome();
  view?.draw();
}

function route() {
  const path = location.pathname;
  if (view && path === shownPath) {
    view.located();
    return;
  }
  view?.close();
  shownPath = path;
  page.main.className = "";
  render(nothing, page.main);
  const run = /^\/runs\/([^/]+)$/.exec(path);
  if (run) view = new RunView(page, unsegment(run[1]));
  else if (path === "/sessions") view = new SessionsView(page);
  else if (path === "/agents") view = new AgentsView(page);
  else view = new ListView(page);
  view.draw();
  drawChrome();
}

function askToken() {
  const dialog = /** @type {HTMLDialogElement} */ ($("signin"));
  if (dialog.open) return;
  const enter = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const given = new FormData(/** @type {HTMLFormElement} */ (event.target)).get("token");
    setToken(String(given ?? "").trim());
    dialog.close();
    shownPath = "";
    route();
  };
  render(
    html`<h2 class="strong" id="signin-title">This gateway needs a token</h2>
      <form @submit=${enter}><label class="field"><input name="token" type="password" autocomplete="off" required aria-label="Access token" placeholder="Access token"></label>
      <p class="soft">It stays in this tab and is forgotten with it.</p><button class="btn">Continue</button></form>`,
    dialog,
  );
  dialog.showModal();
}

/** Links inside the page change the view, not the document. @param {MouseEvent} event */
function onClick(event) {
  const link = /** @type {Element} */ (event.target).closest?.("a");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const url = new URL(link.href, location.href);
  if (url.origin !== location.origin || link.hasAttribute("download") || link.getAttribute("href")?.startsWith("#")) return;
  event.preventDefault();
  page.go(url.pathname + url.search);
}

applyTheme();
listen();
onUnauthorized(askToken);
addEventListener("click", onClick);
addEventListener("popstate", route);
// Timers move once a second, and only their digits.
setInterval(() => {
  const kind = view?.state()?.kind;
  if (kind === "waiting" || kind === "lost") drawChrome();
  else if (kind !== "ended") view?.draw();
}, 1000);
route();
