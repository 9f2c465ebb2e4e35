// Keys for the forms. Without it they are filled in with the mouse, or with Tab and Space.
"use strict";

const form = document.querySelector("main > form");
const items = [...document.querySelectorAll("fieldset.item")];
const note = document.querySelector("textarea");
let changed = false;

function currentItem() {
  return document.activeElement?.closest("fieldset.item") ?? null;
}

function goTo(item) {
  item?.focus({ preventScroll: true });
  item?.scrollIntoView({ block: "nearest" });
}

function firstOpen() {
  return items.find((item) => !item.querySelector("input:checked")) ?? items.at(-1);
}

function move(step) {
  const at = items.indexOf(currentItem());
  goTo(at < 0 ? firstOpen() : items[Math.min(Math.max(at + step, 0), items.length - 1)]);
}

// A letter belongs to the item that is current; some letters are found from anywhere.
function choose(key) {
  const wanted = `input[data-key="${CSS.escape(key)}"]`;
  const input =
    currentItem()?.querySelector(wanted) ?? form.querySelector(`${wanted}[data-anywhere]`);
  if (!input) return false;
  input.checked = true;
  changed = true;
  const item = input.closest("fieldset.item");
  goTo(items[items.indexOf(item) + 1] ?? item);
  return true;
}

function follow(key) {
  const link = document.querySelector(`a[data-key="${CSS.escape(key)}"]`);
  link?.click();
  return link !== null;
}

const ACTIONS = {
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  Enter: () => form.requestSubmit(),
  e: () => note.focus(),
};

function onKey(event) {
  const { key } = event;
  if (event.target === note) {
    if (key === "Escape") goTo(firstOpen());
    else if (key === "Enter" && event.ctrlKey) form.requestSubmit();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (key === "Enter" && event.target.closest("a, summary")) return;
  const letter = key.toLowerCase();
  const action = ACTIONS[key] ?? ACTIONS[letter];
  if (action) action();
  else if (!choose(letter) && !follow(key)) return;
  event.preventDefault();
}

if (items.length) {
  document.addEventListener("keydown", onKey);
  form.addEventListener("input", () => (changed = true));
  form.addEventListener("submit", () => (changed = false));
  window.addEventListener("beforeunload", (event) => changed && event.preventDefault());
  document.querySelector(".keys").hidden = false;
  goTo(firstOpen());
}
