// Holds the data, and functions that all parts of the page share.
const data = JSON.parse(document.getElementById("data").textContent);
const strings = data.strings;
const byId = (id) => document.getElementById(id);
const text = (i) => (i >= 0 ? strings[i] : "");
const count = (columns) => Object.values(columns)[0].length;

function element(tag, properties, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(properties || {})) k === "class" ? (e.className = v) : (e[k] = v);
  e.append(...children);
  return e;
}
function svg(tag, attributes, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [k, v] of Object.entries(attributes || {})) e.setAttribute(k, v);
  e.append(...children);
  return e;
}
// Returns red, green, blue (0 to 255) and opacity of any color of CSS.
const parsedColor = (() => {
  const c = element("canvas", { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true }), known = new Map();
  return (css) => {
    if (!known.has(css)) {
      c.clearRect(0, 0, 1, 1);
      c.fillStyle = css;
      c.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = c.getImageData(0, 0, 1, 1).data;
      known.set(css, [r, g, b, a / 255]);
    }
    return known.get(css);
  };
})();
// Returns the contrast of two colors as WCAG defines it, from 1 to 21.
function contrast(a, b) {
  const light = (c) => {
    const [r, g, b] = c.map((v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const x = light(a), y = light(b);
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}
// Returns black or white, whichever is read better on a color.
const inkOn = (css) => (contrast(parsedColor(css), [255, 255, 255]) >= 4.5 ? "#fff" : "#0b0f14");
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Writes three significant digits.
function digits(v) {
  const a = Math.abs(v);
  return a >= 100 ? v.toFixed(0) : a >= 10 ? v.toFixed(1) : v.toFixed(2);
}
function duration(us) {
  const a = Math.abs(us);
  if (a >= 1e6) return digits(us / 1e6) + " s";
  if (a >= 1e3) return digits(us / 1e3) + " ms";
  return a >= 1 || a === 0 ? digits(us) + " µs" : (us * 1e3).toFixed(0) + " ns";
}
function scaled(v, step, units) {
  let i = 0;
  while (Math.abs(v) >= step && i + 1 < units.length) (v /= step), ++i;
  return (i === 0 && Number.isInteger(v) ? String(v) : digits(v)) + units[i];
}
const bytes = (v) => scaled(v, 1024, [" B", " KiB", " MiB", " GiB", " TiB"]);
const plain = (v) => v.toLocaleString("en-US");
const sum = (a) => a.reduce((x, y) => x + y, 0);

// Passes events between the parts of the page: "flush" (a flush was picked), "program" (a program was).
const listeners = {};
const on = (what, f) => (listeners[what] ||= []).push(f);
const say = (what, ...args) => (listeners[what] || []).forEach((f) => f(...args));

const counted = (n, what) => plain(n) + " " + what + (n === 1 ? "" : what.endsWith("sh") ? "es" : "s");

// Shows a table: only the rows in view are in the document, so that 100,000 rows cost no more than 20.
// columns: {title, width (of the grid), value (sorts), show (text or node), right, tip}. children: the rows that an open row
// has below it. Where it is narrower than its columns it scrolls sideways. Arrows, page keys, Home and End move the cursor,
// Enter picks its row; in the header Enter sorts.
class Table {
  constructor(box, columns, rows, pick, children = () => []) {
    Object.assign(this, { columns, rows, all: rows, pick, children, sorted: -1, down: true, height: 30, cursor: -1, none: "Nothing to show." });
    this.grid = columns.map((c) => c.width).join(" ");
    const header = element("div", { class: "row header", role: "row" });
    header.style.gridTemplateColumns = this.grid;
    columns.forEach((c, i) => {
      const cell = element("span", { class: c.right ? "r" : "", role: "columnheader", tabIndex: 0, textContent: c.title, title: c.tip || "", onclick: () => this.sort(i) });
      cell.addEventListener("keydown", (e) => (e.key === "Enter" || e.key === " ") && (this.sort(i), e.preventDefault()));
      header.append(cell);
    });
    this.body = element("div", { class: "body", tabIndex: 0 });
    this.filler = element("div");
    this.body.append(this.filler);
    this.header = header;
    const wide = element("div", { class: "wide", role: "grid" }, header, this.body);
    wide.setAttribute("aria-label", box.id);
    wide.style.minWidth = sum(columns.map((c) => 14 + Number(c.width.match(/(\d+)px/)[1]))) + 10 + "px";
    box.append(wide);
    this.body.addEventListener("scroll", () => this.draw());
    this.body.addEventListener("keydown", (e) => this.key(e));
    this.body.addEventListener("focus", () => this.cursor < 0 && this.rows.length && this.move(Math.max(0, this.rows.indexOf(this.chosen))));
    this.set(rows);
  }
  set(rows) {
    this.top = rows;
    this.order();
    this.filler.style.height = this.rows.length * this.height + "px";
    this.body.style.height = Math.min(380, Math.max(1, this.rows.length) * this.height) + "px";
    this.cursor = Math.min(this.cursor, this.rows.length - 1);
    this.draw();
  }
  key(e) {
    const page = Math.max(1, Math.floor(this.body.clientHeight / this.height) - 1), last = this.rows.length - 1;
    const to = { ArrowDown: this.cursor + 1, ArrowUp: this.cursor - 1, PageDown: this.cursor + page, PageUp: this.cursor - page, Home: 0, End: last }[e.key];
    if (to !== undefined) this.move(Math.max(0, Math.min(last, to)));
    else if ((e.key === "Enter" || e.key === " ") && this.rows[this.cursor] !== undefined) this.choose(this.rows[this.cursor]);
    else return;
    e.preventDefault();
  }
  move(to) {
    this.cursor = to;
    const top = to * this.height, shown = this.body.clientHeight;
    if (top < this.body.scrollTop) this.body.scrollTop = top;
    if (top + this.height > this.body.scrollTop + shown) this.body.scrollTop = top + this.height - shown;
    this.draw();
  }
  sort(i) {
    this.down = this.sorted === i ? !this.down : true;
    this.sorted = i;
    this.order();
    this.draw();
  }
  order() {
    const sign = this.down ? -1 : 1, value = this.sorted >= 0 ? this.columns[this.sorted].value : () => 0;
    const sorted = (rows) => (this.sorted < 0 ? rows.slice() : rows.slice().sort((a, b) => (value(a) < value(b) ? -sign : value(a) > value(b) ? sign : a - b)));
    this.rows = sorted(this.top).flatMap((r) => [r, ...sorted(this.children(r))]);
    if (this.sorted >= 0) [...this.header.children].forEach((e, i) => (e.textContent = this.columns[i].title + (i === this.sorted ? (this.down ? " ↓" : " ↑") : "")));
  }
  draw() {
    const first = Math.max(0, Math.floor(this.body.scrollTop / this.height) - 4);
    const last = Math.min(this.rows.length, first + Math.ceil(400 / this.height) + 10);
    const shown = [this.filler];
    for (let i = first; i < last; ++i) {
      const r = this.rows[i];
      const row = element("div", { class: "row" + (r === this.chosen ? " chosen" : "") + (i === this.cursor ? " cursor" : ""), role: "row", onclick: () => ((this.cursor = i), this.choose(r)) });
      row.setAttribute("aria-rowindex", i + 2);
      row.setAttribute("aria-selected", String(r === this.chosen));
      row.style.gridTemplateColumns = this.grid;
      row.style.top = i * this.height + "px";
      for (const c of this.columns) {
        const shows = c.show(r), cell = element("span", { class: c.right ? "r" : "", role: "gridcell" }, shows);
        if (typeof shows === "string") cell.title = c.say ? c.say(r) : shows;
        row.append(cell);
      }
      shown.push(row);
    }
    if (!this.rows.length) shown.push(element("div", { class: "row none muted", textContent: this.none }));
    this.body.replaceChildren(...shown);
  }
  choose(r, quiet) {
    this.chosen = r;
    if (quiet) {
      const at = this.rows.indexOf(r);
      if (at >= 0) this.body.scrollTop = at * this.height - 150;
    }
    this.draw();
    if (!quiet) this.pick(r);
  }
}
